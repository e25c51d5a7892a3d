// Values of the fields of a form.

/** Returns a trimmed text; empty if the form has no such field. */
export function textIn(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** Returns a text; null if the field is empty. */
export function textOrNull(form: HTMLFormElement, name: string): string | null {
  return textIn(form, name) || null;
}

/** Returns a number; null if the field is empty. */
export function numberOrNull(form: HTMLFormElement, name: string): number | null {
  const text = textIn(form, name);
  return text === "" ? null : Number(text);
}

/** Returns the values of the checked boxes with this name. */
export function checkedIn(form: HTMLFormElement, name: string): readonly string[] {
  return new FormData(form).getAll(name).filter((value) => typeof value === "string");
}
