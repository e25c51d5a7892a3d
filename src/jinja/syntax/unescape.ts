// Backslashes in a template's strings, which are Python's.
import { TemplateFault } from "../fault.ts";

const named: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

const escape = /\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{1,3}|[\s\S])/g;

/** @throws TemplateFault for an escape that is cut off, or no character */
export function unescapeText(text: string, line: number): string {
  if (!text.includes("\\")) return text;
  return text.replaceAll(escape, (whole, code: string) => {
    if (code in named) return named[code];
    if (/^[0-7]/.test(code)) return String.fromCodePoint(Number.parseInt(code, 8));
    if (/^[xuU]/.test(code)) {
      const point = Number.parseInt(code.slice(1), 16);
      if (code.length === 1 || point > 0x10ffff)
        throw new TemplateFault(`the escape ${whole} in a string is not whole`, line);
      return String.fromCodePoint(point);
    }
    if (code === "N") throw new TemplateFault("characters by name are not known", line);
    return whole;
  });
}
