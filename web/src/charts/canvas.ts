// What all that is drawn on canvases needs.

/** Time, from the left to the right. */
interface Stretch {
  left: number;
  width: number;
  t0: number;
  t1: number;
}

/** Where a moment lies. */
export function xOf({ left, width, t0, t1 }: Stretch, t: number): number {
  return left + ((t - t0) / (t1 - t0)) * width;
}

/** Whatever is drawn within an area is cut at its edges. */
export function clipped(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  draw();
  context.restore();
}

/** Makes a canvas as large as this, and empty. @return what draws on it, in CSS pixels */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = devicePixelRatio;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** As much of a text as there is room for. @param width of a text */
export function shortened(text: string, room: number, width: (text: string) => number): string {
  if (width(text) <= room) return text;
  let length = text.length - 1;
  while (length > 1 && width(`${text.slice(0, length)}…`) > room) length--;
  return `${text.slice(0, length)}…`;
}
