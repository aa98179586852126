"""A small SVG writer, for scripts/results: bars, stacked bars, curves, for light and dark."""

import math

STYLE = """<style>
.card{fill:#ffffff;stroke:#d0d0d0}.text{fill:#222222;font:13px sans-serif}
.small{fill:#555555;font:11px sans-serif}.grid{stroke:#dddddd}
.s0{fill:#9aa5b1}.s1{fill:#d98324}.s2{fill:#2a78b8}.s3{fill:#3c9a5f}.s4{fill:#8a5fb0}
@media (prefers-color-scheme: dark){
.card{fill:#1b1e23;stroke:#3a3f47}.text{fill:#e6e6e6}.small{fill:#b0b0b0}.grid{stroke:#363b43}
.s0{fill:#7f8b98}.s1{fill:#e79a45}.s2{fill:#4a9bdc}.s3{fill:#56b97b}.s4{fill:#a583cc}}
</style>"""


def svg(width, height, body, title):
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            f"<title>{escape(title)}</title>",
            STYLE,
            f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" '
            'rx="6"/>',
            *body,
            "</svg>",
        ]
    )


def escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def label(x, y, text, kind="text", anchor="start"):
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(text)}</text>'


def ticks_of(low, high):
    power, found = 10 ** math.floor(math.log10(low)), []
    while power <= high:
        found += [m * power for m in (1, 2, 5) if low <= m * power <= high]
        power *= 10
    return found


def bars(title, unit, series, groups, log=True, width=760):
    """Horizontal bars. series: names; groups: [(label, [value or None for each series])]."""
    left, right, bar, gap = 170, 70, 15, 12
    values = [v for _, found in groups for v in found if v]
    low, high = (min(values) * 0.7, max(values) * 1.05) if log else (0, max(values) * 1.05)
    span = width - left - right
    place = (
        (lambda v: left + span * math.log(v / low) / math.log(high / low))
        if log
        else (lambda v: left + span * v / high)
    )
    top = 64
    height = top + sum(bar * sum(v is not None for v in found) + gap for _, found in groups) + 30
    body = [label(16, 24, title)]
    x = 16
    for i, name in enumerate(series):
        body += [
            f'<rect class="s{i}" x="{x}" y="36" width="11" height="11"/>',
            label(x + 16, 46, name, "small"),
        ]
        x += 30 + 7 * len(name)
    for tick in ticks_of(low, high) if log else []:
        body += [
            f'<line class="grid" x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{top - 6}" '
            f'y2="{height - 26}"/>',
            label(place(tick), height - 12, f"{tick:,.0f}", "small", "middle"),
        ]
    body.append(label(width - 12, height - 12, unit, "small", "end"))
    y = top
    for name, found in groups:
        count = sum(v is not None for v in found)
        body.append(label(left - 10, y + bar * count / 2 + 4, name, "text", "end"))
        for i, value in enumerate(found):
            if value is None:
                continue
            body += [
                f'<rect class="s{i}" x="{left}" y="{y + 1:.1f}" width="{place(value) - left:.1f}" '
                f'height="{bar - 2}"/>',
                label(place(value) + 5, y + bar - 4, f"{value:,.0f}", "small"),
            ]
            y += bar
        y += gap
    return svg(width, height, body, title)


def stacks(title, unit, names, groups, width=760):
    """Stacked horizontal bars. groups: [(label, [value of each name])]."""
    left, right, bar, gap, top = 230, 70, 20, 12, 64
    high = max(sum(values) for _, values in groups)
    height = top + len(groups) * (bar + gap) + 16
    body, x = [label(16, 24, title)], 16
    for i, name in enumerate(names):
        body += [
            f'<rect class="s{i}" x="{x}" y="36" width="11" height="11"/>',
            label(x + 16, 46, name, "small"),
        ]
        x += 34 + 7 * len(name)
    y = top
    for name, values in groups:
        body.append(label(left - 10, y + 15, name, "text", "end"))
        at = left
        for i, value in enumerate(values):
            wide = (width - left - right) * value / high
            body.append(
                f'<rect class="s{i}" x="{at:.1f}" y="{y}" width="{wide:.1f}" height="{bar}"/>'
            )
            at += wide
        body.append(label(at + 5, y + 15, f"{sum(values):,.0f} {unit}", "small"))
        y += bar + gap
    return svg(width, height, body, title)


def curves(title, xlabel, ylabel, name, line, points, width=760, height=320):
    """A curve with a dot for each (x, y) of `line`, and single dots (x, y, label) beside it."""
    left, right, top, bottom = 60, 30, 48, 46
    xs, ys = zip(*line, *(point[:2] for point in points))
    x1 = max(xs) * (1.3 if points else 1.1)
    y0, y1 = math.floor(min(ys) - 0.2), math.ceil(max(ys) + 0.2)
    px = lambda v: left + (width - left - right) * v / x1
    py = lambda v: height - bottom - (height - top - bottom) * (v - y0) / (y1 - y0)
    body = [label(16, 24, title)]
    for value in range(y0, y1 + 1):
        body += [
            f'<line class="grid" x1="{left}" x2="{width - right}" y1="{py(value):.1f}" '
            f'y2="{py(value):.1f}"/>',
            label(left - 8, py(value) + 4, value, "small", "end"),
        ]
    for value in range(0, int(x1) + 1, 5 if x1 < 60 else 20):
        body.append(label(px(value), height - bottom + 18, value, "small", "middle"))
    body += [
        label(width - right, height - 10, xlabel, "small", "end"),
        label(left, top - 8, ylabel, "small"),
        '<polyline fill="none" stroke="#2a78b8" stroke-width="2" points="'
        + " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in line)
        + '"/>',
    ]
    body += [f'<circle class="s2" cx="{px(x):.1f}" cy="{py(y):.1f}" r="4"/>' for x, y in line]
    x, y = line[-1]
    body.append(label(px(x) + 9, py(y) + 4, name, "small"))
    for x, y, text in points:
        body += [
            f'<circle class="s1" cx="{px(x):.1f}" cy="{py(y):.1f}" r="5"/>',
            label(px(x) + 9, py(y) + 4, text, "small"),
        ]
    return svg(width, height, body, title)
