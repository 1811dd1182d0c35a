"""Small panels of lines as an SVG picture: sizes on a logarithmic axis, costs on one that begins at nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 380, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 62, 40
COLUMNS = 3
COLOURS = ("#0b6e99", "#d9730d", "#6940a5", "#0f7b6c")
STYLE = (
    "text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#57606a}"
    ".title{font-weight:600;font-size:13px;fill:#1f2328}.grid{stroke:#e4e7eb}.axis{stroke:#8c959f}"
)


@dataclass(frozen=True)
class Panel:
    """One panel: what grows, what is shown of it, and a line of sizes and costs for each thing measured."""

    title: str
    unit: str
    lines: dict[str, list[tuple[int, float]]]


def nice(most: float) -> float:
    """A round step of which about four reach up to `most`."""
    rough = most / 4
    power = 10 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)


def place(size: int, sizes: list[int]) -> float:
    """Where a size stands between the smallest (0) and the largest (1); a size of 0 stands with 1."""
    low, high = math.log10(max(1, sizes[0])), math.log10(sizes[-1])
    return (math.log10(max(1, size)) - low) / (high - low)


def draw_panel(panel: Panel, x: float, y: float) -> list[str]:
    """Draw one panel with its upper left corner there."""
    sizes = sorted({size for points in panel.lines.values() for size, _ in points})
    step = nice(max(cost for points in panel.lines.values() for _, cost in points))
    steps = math.ceil(max(cost for points in panel.lines.values() for _, cost in points) / step)
    inner, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(size: int, cost: float) -> tuple[float, float]:
        return x + LEFT + place(size, sizes) * inner, y + TOP + (1 - cost / (step * steps)) * tall

    made = [f'<text class="title" x="{x + LEFT}" y="{y + 18}">{escape(panel.title)}</text>']
    made.append(f'<text x="{x + WIDTH - RIGHT}" y="{y + 18}" text-anchor="end">{escape(panel.unit)}</text>')
    for number in range(steps + 1):
        _, level = at(sizes[-1], number * step)
        kind = "grid" if number else "axis"
        made.append(
            f'<line class="{kind}" x1="{x + LEFT}" x2="{x + WIDTH - RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>'
        )
        made.append(f'<text x="{x + LEFT - 8}" y="{level + 4:.1f}" text-anchor="end">{number * step:g}</text>')
    smallest, largest = max(1, sizes[0]), sizes[-1]
    for power in range(math.ceil(math.log10(smallest)), math.floor(math.log10(largest)) + 1):
        across, floor = at(10**power, 0)
        made.append(f'<text x="{across:.1f}" y="{floor + 18:.1f}" text-anchor="middle">{10**power:,}</text>')
    for number, (title, points) in enumerate(panel.lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [at(size, cost) for size, cost in points]
        path = " ".join(f"{across:.1f},{level:.1f}" for across, level in places)
        made.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>'
        )
        made += [f'<circle cx="{across:.1f}" cy="{level:.1f}" r="3" fill="{colour}"/>' for across, level in places]
        column, row = number % 2, number // 2
        legend = x + LEFT + column * inner / 2, y + 36 + row * 15
        made.append(f'<rect x="{legend[0]:.1f}" y="{legend[1] - 4:.1f}" width="12" height="3" fill="{colour}"/>')
        made.append(f'<text x="{legend[0] + 17:.1f}" y="{legend[1]:.1f}">{escape(title.replace("`", ""))}</text>')
    return made


def draw(panels: list[Panel]) -> str:
    """The whole picture."""
    rows = math.ceil(len(panels) / COLUMNS)
    width, height = COLUMNS * WIDTH + 16, rows * (HEIGHT + 12) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, panel in enumerate(panels):
        parts += draw_panel(panel, 8 + number % COLUMNS * WIDTH, 8 + number // COLUMNS * (HEIGHT + 12))
    return "\n".join([*parts, "</svg>"]) + "\n"
