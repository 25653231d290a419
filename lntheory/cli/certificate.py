"""The report of a certificate: values for programs, and lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lntheory.cli.words import counted, interval

if TYPE_CHECKING:
    from lntheory.exact import Certificate

__all__ = ["certificate_rows", "certificate_values"]


def certificate_values(certificate: Certificate) -> dict[str, Any]:
    """The fields of the certificate without `margins`, which has one number for each sample."""
    values = certificate.to_dict()
    for name in ("format", "version", "margins"):
        del values[name]
    return {**values, "wrong_samples": 0}


def certificate_rows(certificate: Certificate) -> list[tuple[str, str]]:
    """The lines that say what is proved, as (name, text)."""
    layers = f"{counted(certificate.depth, 'LN layer')} of width {certificate.width}"
    return [
        ("depth", layers if certificate.depth else "0 LN layers (linear)"),
        ("wrong samples", f"0 of {certificate.n_samples}, {certificate.n_classes} classes: proved"),
        ("smallest margin", f"at least {certificate.margin:.6g}: proved"),
        ("precision", f"{certificate.precision} bits, by {certificate.method}"),
        ("arithmetic", _arithmetic(certificate)),
        ("SSR", f"{interval(certificate.ssr_before)} before, {interval(certificate.ssr_after)} after"),
        ("LSSR", f"{interval(certificate.lssr_before)} before, {interval(certificate.lssr_after)} after"),
    ]


def _arithmetic(certificate: Certificate) -> str:
    if certificate.float64_wrong is None or certificate.float32_wrong is None:
        return "dyadic: float64 no longer carries this net; its wider parameters are predicted in balls"
    passes = ((64, certificate.float64_wrong), (32, certificate.float32_wrong))
    outcomes = [
        f"plain float{bits} pass " + ("agrees" if not wrong else f"gets {wrong} wrong")
        for bits, wrong in passes
    ]
    return f"float64 parameters; {', '.join(outcomes)}"
