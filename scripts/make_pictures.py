"""Draw the pictures of README and docs from a run: the pipeline with its numbers, the report, the labelling page.

    python scripts/make_pictures.py RUN LABELS

RUN is a finished run, LABELS a folder of `scirgen label page`. Each picture is drawn light and dark into docs/images.
Needs Chromium and playwright.
"""

from __future__ import annotations

import json
import shutil
import sys
from html import escape
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SCHEMES = {"light": ("", "#ffffff", "#1f2328", "#0969da"), "dark": ("-dark", "#0d1117", "#e6edf3", "#58a6ff")}
UNITS = {
    "collect": "datasets", "parse": "papers", "match": "pairs judged", "extract": "statements", "verify": "kept",
    "generate": "candidates", "filter": "accepted", "release": "rows",
}  # fmt: skip


def main(run: Path, labels: Path) -> None:
    """Draw all pictures."""
    data = json.loads((run / "report.json").read_text(encoding="utf-8"))
    for ending, ground, ink, line in SCHEMES.values():
        (IMAGES / f"pipeline{ending}.svg").write_text(pipeline(data, ground, ink, line), encoding="utf-8")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme, (ending, *_) in SCHEMES.items():
            page = browser.new_context(color_scheme=scheme, viewport={"width": 1200, "height": 760}).new_page()
            page.goto((run / "report.html").resolve().as_uri())
            page.screenshot(path=IMAGES / f"report{ending}.png")
            page.goto((run / "report.html").resolve().as_uri() + "#" + data["sample"][0]["id"])
            page.reload()
            page.wait_for_timeout(500)
            page.screenshot(path=IMAGES / f"rows{ending}.png")
            page.goto((labels / "A.html").resolve().as_uri())
            page.wait_for_timeout(500)
            page.keyboard.press("p")
            page.wait_for_timeout(1500)
            page.screenshot(path=IMAGES / f"label-page{ending}.png")
        browser.close()


def pipeline(data: dict[str, Any], ground: str, ink: str, line: str) -> str:
    """The steps from left to right as SVG, each with what it made in the run."""
    made = {row["stage"]: row["outputs"] for row in data["funnel"]}
    made |= {"collect": data["datasets"], "release": data["released"]}
    width, parts = 132, []
    for n, (stage, unit) in enumerate(UNITS.items()):
        x = 10 + n * width
        parts.append(
            f'<rect x="{x}" y="12" width="108" height="76" rx="8" fill="none" stroke="{line}" stroke-width="1.5"/>'
            f'<text x="{x + 54}" y="34" font-weight="600">{escape(stage)}</text>'
            f'<text x="{x + 54}" y="58" font-size="19">{made[stage]:,}</text>'
            f'<text x="{x + 54}" y="77" font-size="12">{escape(unit)}</text>'
        )
        if n:
            parts.append(f'<path d="M{x - 22} 50h16m-5 -4l5 4l-5 4" fill="none" stroke="{ink}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {10 + len(UNITS) * width} 100" role="img" '
        f'aria-label="The pipeline with the numbers of one run" font-family="sans-serif" font-size="14" '
        f'text-anchor="middle" fill="{ink}"><rect width="100%" height="100%" fill="{ground}"/>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
