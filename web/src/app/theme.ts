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
