"""Small videos whose pixels follow from where and when they are."""

import math

WIDTH, HEIGHT, FRAMES = 100, 70, 12  # no whole blocks


def luma(frame):
    """Waves that move, and an edge."""
    return bytes(max(0, min(255, int(128 + 60 * math.sin((x + 2 * frame) / 9) + 40 * math.cos(y / 7)) + (40 if x > y + frame else 0)))
                 for y in range(HEIGHT) for x in range(WIDTH))


def squares(frame):
    """A board of squares of any grey that moves by two pixels a frame."""
    def grey(column, row):
        return (column * 2654435761 ^ row * 2246822519) * 3266489917 >> 13 & 255
    return bytes(grey((x + 2 * frame) // 6, y // 6) for y in range(HEIGHT) for x in range(WIDTH))


def write_video(path, frames=FRAMES, header=b"YUV4MPEG2 W100 H70 F25:1 Ip C420jpeg\n", luma=luma):
    chroma = bytes(128 for _ in range((WIDTH // 2) * (HEIGHT // 2)))
    with open(path, "wb") as file:
        file.write(header)
        for frame in range(frames):
            file.write(b"FRAME\n" + luma(frame) + chroma + chroma)
