"""A chart of lines with two logarithmic axes, as SVG."""

import math

WIDTH, HEIGHT = 860, 560
LEFT, RIGHT, TOP, BOTTOM = 90, 190, 50, 70
COLOURS = ["#1f6fb4", "#d95f02", "#1b9e77", "#c51b8a", "#7a5ac8", "#a6761d", "#4d4d4d", "#e7298a", "#66a61e"]


def size_text(value):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:g} {unit}"
        value /= 1024


def time_text(seconds):
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale * 0.999:
            return f"{seconds / scale:g} {unit}"
    return f"{seconds:g} s"


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def draw(title, lines):
    """`lines`: name to points of a size in bytes and a time in seconds. The grey lines grow as the size does."""
    sizes = sorted({size for points in lines.values() for size, _ in points})
    times = [time for points in lines.values() for _, time in points]
    low = 10 ** math.floor(math.log10(min(times)))
    high = 10 ** math.ceil(math.log10(max(times)))
    plot_width, plot_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(size):
        span = math.log(sizes[-1] / sizes[0]) or 1
        return LEFT + plot_width * math.log(size / sizes[0]) / span

    def y(time):
        return TOP + plot_height * math.log(high / time) / math.log(high / low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{plot_width}" height="{plot_height}"/></clipPath>',
        f'<text x="{LEFT}" y="28" font-size="17" font-weight="bold">{escape(title)}</text>',
    ]

    def line(points, style):
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        out.append(f'<polyline points="{path}" fill="none" {style}/>')

    for size in sizes:
        line([(x(size), TOP), (x(size), TOP + plot_height)], 'stroke="#e6e6e6"')
        out.append(f'<text x="{x(size):.1f}" y="{TOP + plot_height + 20}" text-anchor="middle">{size_text(size)}</text>')
    decade = low
    while decade <= high * 1.001:
        line([(LEFT, y(decade)), (LEFT + plot_width, y(decade))], 'stroke="#e6e6e6"')
        out.append(f'<text x="{LEFT - 8}" y="{y(decade) + 4:.1f}" text-anchor="end">{time_text(decade)}</text>')
        decade *= 10
    # Guides: a time that grows as the size does, through each decade at the left edge.
    start = low / (sizes[-1] / sizes[0])
    while start < high:
        guide = [(x(size), y(start * size / sizes[0])) for size in (sizes[0], sizes[-1])]
        line(guide, 'stroke="#bdbdbd" stroke-dasharray="4 5" clip-path="url(#plot)"')
        start *= 10
    line(
        [(LEFT, TOP), (LEFT, TOP + plot_height), (LEFT + plot_width, TOP + plot_height)],
        'stroke="black" stroke-width="1.2"',
    )
    middle = LEFT + plot_width / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 22}" text-anchor="middle">bytes of input; dashed: time grows as the size does</text>')
    out.append(f'<text transform="translate(22 {TOP + plot_height / 2}) rotate(-90)" text-anchor="middle">time of the process</text>')

    # Names beside the ends of the lines, moved apart where they would overlap.
    at = -math.inf
    order = sorted(enumerate(lines.items()), key=lambda item: y(item[1][1][-1][1]))
    for number, (name, points) in order:
        colour = COLOURS[number % len(COLOURS)]
        places = [(x(size), y(time)) for size, time in points]
        line(places, f'stroke="{colour}" stroke-width="2.2" stroke-linejoin="round"')
        for px, py in places:
            out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.2" fill="{colour}"/>')
        end_x, end_y = places[-1]
        at = max(at + 16, end_y)
        line([(end_x + 5, end_y), (end_x + 16, at)], f'stroke="{colour}" stroke-width="1"')
        out.append(f'<text x="{end_x + 20:.1f}" y="{at + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    out.append("</svg>\n")
    return "\n".join(out)
