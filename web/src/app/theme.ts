// Dark or light: as the system says, until a person chooses.

const KEY = 'attune-theme';

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const system = matchMedia('(prefers-color-scheme: dark)');

export function isDark(): boolean {
  return document.documentElement.dataset['theme'] === 'dark';
}

function apply(): void {
  document.documentElement.dataset['theme'] = stored() ?? (system.matches ? 'dark' : 'light');
}

export function startTheme(onChange: () => void): void {
  apply();
  system.addEventListener('change', () => {
    apply();
    onChange();
  });
}

export function toggleTheme(): void {
  const next = isDark() ? 'light' : 'dark';
  document.documentElement.dataset['theme'] = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

const styles = getComputedStyle(document.documentElement);
const known = new Map<string, string>();
let knownTheme = '';

/** The value of a custom property in the current theme. Kept: asking the browser takes longer than drawing a short line. */
export function css(name: string): string {
  const theme = document.documentElement.dataset['theme'] ?? '';
  if (theme !== knownTheme) known.clear();
  knownTheme = theme;
  let value = known.get(name);
  if (value === undefined) {
    value = styles.getPropertyValue(name).trim();
    // Nothing yet: the style sheet has not come.
    if (value !== '') known.set(name, value);
  }
  return value;
}
