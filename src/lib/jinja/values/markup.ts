// HTML in templates, as Python's markupsafe has it: a str that was escaped, or called safe, is left as it is, and what is
// added to it is escaped. Chat templates meet it where they say `| safe`, and add to that.
import type { Budget } from "../budget.ts";
import { Markup, type Value } from "./value.ts";

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "'": "&#39;",
  '"': "&#34;",
};

export function escaped(text: string): string {
  return text.replaceAll(/[&<>'"]/g, (character) => escapes[character]);
}

/** @param text what is printed of the value */
export function toMarkup(value: Value, text: string): Markup {
  return value instanceof Markup ? value : new Markup(escaped(text));
}

/** Both behind one another where one is HTML and the other a text; null for all else. */
export function markupSum(left: Value, right: Value, budget: Budget): Markup | null {
  if (!(left instanceof Markup) && !(right instanceof Markup)) return null;
  const [before, after] = [htmlOf(left), htmlOf(right)];
  return before === null || after === null ? null : new Markup(budget.text(before + after));
}

function htmlOf(value: Value): string | null {
  if (value instanceof Markup) return value.text;
  return typeof value === "string" ? escaped(value) : null;
}

/** What all but adding takes of a value. */
export function withoutMarkup(value: Value): Value {
  return value instanceof Markup ? value.text : value;
}
