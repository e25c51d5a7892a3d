// Dark or light theme. It follows the system until the user switches it; the browser stores the user's choice.
import { signal } from "@preact/signals";

export type Theme = "dark" | "light";

const name = "hone-theme";

export const theme = signal<Theme>(
  chosen() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
);

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

export function switchTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(name, theme.value);
  applyTheme();
}

function chosen(): Theme | null {
  const kept = localStorage.getItem(name);
  return kept === "dark" || kept === "light" ? kept : null;
}
