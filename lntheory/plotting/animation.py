"""The whole construction as an animation."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from lntheory.base.files import replaced_file
from lntheory.base.types import Progress
from lntheory.circle import Trajectory
from lntheory.errors import InvalidInputError
from lntheory.plotting.circle import draw_stage, legend_handles, prepare
from lntheory.plotting.style import class_styles

__all__ = ["frames", "save_animation"]


def save_animation(
    path: Trajectory,
    file: str | os.PathLike[str],
    *,
    max_frames: int = 60,
    size: int = 520,
    progress: Progress | None = None,
) -> None:
    """Write the whole construction as an animated GIF.

    Parameters
    ----------
    path : Trajectory
    file : str or path
        A file named ``*.gif``, which appears whole or not at all.
    max_frames : int
        The stages of a net with more layers are sampled evenly, the first and last included. Between the
        layers of a shallow net the points glide in straight lines (a help to the eye; the net itself jumps).
    size : int
        Width and height in pixels.
    progress : callable, optional
        Called as ``progress(frames done, frames in all)``.

    Raises
    ------
    InvalidInputError
        If the file is not named ``*.gif``.
    """
    if Path(file).suffix.lower() != ".gif":
        raise InvalidInputError(f"{file}: the animation is saved to a file named *.gif")
    plan = list(frames(path, max_frames))
    gliding = any(t > 0 for _, t in plan)
    palette = _palette(len(path.classes))
    images, durations = [], []
    for done, picture in enumerate(_pictures(path, plan, size)):
        images.append(picture.quantize(palette=palette, dither=Image.Dither.NONE))
        durations.append(_milliseconds(*plan[done], path.depth, gliding))
        if progress is not None:
            progress(done + 1, len(plan))
    with replaced_file(file) as beside:
        images[0].save(
            beside, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True
        )


def frames(path: Trajectory, max_frames: int) -> Iterator[tuple[int, float]]:
    """The stage of every frame, and the share of the way to the next stage; deep nets skip stages."""
    stages = np.unique(np.linspace(0, path.depth, min(path.depth + 1, max_frames)).round().astype(int))
    between = min(10, max_frames // len(stages) - 1)
    for stage in stages.tolist():
        yield stage, 0.0
        if stage < path.depth and between > 1:
            for t in np.linspace(0, 1, between + 1)[1:-1]:
                yield stage, float(t * t * (3 - 2 * t))


def _pictures(path: Trajectory, plan: list[tuple[int, float]], size: int) -> Iterator[Image.Image]:
    """The frames, each beside the legend."""
    figure = Figure(figsize=(size / 100, size / 100), dpi=100)
    axes = figure.add_axes((0.13, 0.1, 0.84, 0.84))  # laying out anew would shake the picture, and take time
    prepare(axes)
    legend = _drawn(_legend_figure(path, size))  # drawn once: it never changes
    for stage, t in plan:
        for artist in [*axes.patches, *axes.collections, *axes.lines, *axes.texts]:
            artist.remove()  # axes.clear() would set up the axes anew as well
        between = None if t == 0 else (1 - t) * path.stages[stage] + t * path.stages[stage + 1]
        draw_stage(axes, path, stage, between)
        picture = Image.new("RGB", (size + legend.width, size))
        picture.paste(_drawn(figure))
        picture.paste(legend, (size, 0))
        yield picture


def _legend_figure(path: Trajectory, size: int) -> Figure:
    figure = Figure(figsize=(round(0.48 * size) / 100, size / 100), dpi=100)
    figure.legend(handles=legend_handles(path), loc="upper left", fontsize=7.5, frameon=False)
    return figure


def _palette(n_classes: int) -> Image.Image:
    """Greys, and every class's colour in a few tints.

    A palette chosen by frequency would fade the colours of rare classes.
    """
    tints = max(1, min(6, 240 // n_classes))
    colours = [np.full(3, grey) for grey in np.linspace(0, 1, 16)]
    for colour, _ in class_styles(min(n_classes, 240)):
        colours += [w + (1 - w) * np.array(to_rgb(colour)) for w in np.arange(tints) * 0.15]
    palette = Image.new("P", (1, 1))
    palette.putpalette((255 * np.array(colours)).round().astype(np.uint8).tobytes())
    return palette


def _drawn(figure: Figure) -> Image.Image:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="rgba")
    size = (round(figure.get_figwidth() * figure.dpi), round(figure.get_figheight() * figure.dpi))
    return Image.frombytes("RGBA", size, buffer.getvalue()).convert("RGB")


def _milliseconds(stage: int, t: float, depth: int, gliding: bool) -> int:
    if t > 0:
        return 50
    if stage in (0, depth):
        return 2000
    return 900 if gliding else 100
