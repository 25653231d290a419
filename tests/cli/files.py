"""Names of files."""

EVERY_FILE = ["animation.gif", "certificate.json", "data.npz", "layers.png", "net.json", "runs.png"]


def names(directory):
    return sorted(path.name for path in directory.iterdir())
