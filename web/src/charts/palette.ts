// Colours of series: told apart on dark and on light, also by most colour-blind people; many series run round the wheel.

const DARK = ['#5b9dff', '#ffb454', '#4fd6a8', '#ff7a90', '#b48cff', '#5cd0ea', '#e6d25c', '#ff9ad5', '#9ccf5a', '#c9a58b'];
const LIGHT = ['#2166d1', '#c46a00', '#0e8f66', '#d13853', '#7a45d6', '#0b86a3', '#8d7a00', '#c23d93', '#4f8714', '#8a5a3a'];

export function seriesColor(index: number, of: number, dark: boolean): string {
  if (of <= DARK.length) return (dark ? DARK : LIGHT)[index];
  const hue = (215 + (index * 360) / of) % 360;
  return dark ? `hsl(${hue.toFixed(0)} 72% 66%)` : `hsl(${hue.toFixed(0)} 70% 40%)`;
}
