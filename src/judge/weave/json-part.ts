// Extracts the part at a path from a JSON text without parsing the text. Numbers in the part therefore keep all their
// digits. Each character that is skipped is read only once.

/** A step to a member of an object by name, or to an item of a list by index. */
export type PartStep = { readonly name: string } | { readonly index: number };

/** Returns the JSON text of the value at a path in a valid JSON text; null if the path does not exist. */
export function jsonPart(text: string, steps: readonly PartStep[]): string | null {
  let start: number | null = behindBlanks(text, 0);
  for (const step of steps) {
    start = "name" in step ? memberStart(text, start, step.name) : itemStart(text, start, step.index);
    if (start === null) return null;
  }
  return text.slice(start, endOfValue(text, start));
}

function memberStart(text: string, object: number, name: string): number | null {
  if (text[object] !== "{") return null;
  let at = behindBlanks(text, object + 1);
  while (text[at] === '"') {
    const end = endOfText(text, at);
    const isWanted = JSON.parse(text.slice(at, end)) === name;
    at = behindBlanks(text, behindBlanks(text, end) + 1);
    if (isWanted) return at;
    at = nextStart(text, at);
  }
  return null;
}

function itemStart(text: string, list: number, index: number): number | null {
  if (text[list] !== "[") return null;
  let at = behindBlanks(text, list + 1);
  for (let passed = 0; passed < index && text[at] !== "]"; passed++) at = nextStart(text, at);
  return text[at] === "]" ? null : at;
}

/** Returns the position of the next member or item after a value, or of the closing bracket if there is none. */
function nextStart(text: string, value: number): number {
  const end = behindBlanks(text, endOfValue(text, value));
  return text[end] === "," ? behindBlanks(text, end + 1) : end;
}

function endOfValue(text: string, start: number): number {
  if (text[start] === '"') return endOfText(text, start);
  let depth = 0;
  for (let at = start; at < text.length;) {
    const sign = text[at];
    if (sign === '"') {
      at = endOfText(text, at);
      continue;
    }
    if (sign === "{" || sign === "[") depth += 1;
    else if (sign === "}" || sign === "]") {
      // Without an open bracket, this is the bracket that closes the surrounding object or list, so a number or literal
      // ends here.
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (sign === "," || isBlank(sign))) return at;
    at += 1;
  }
  return text.length;
}

/** A quote ends a string unless an odd number of backslashes precedes it. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
}

function behindBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text[at])) at += 1;
  return at;
}

function isBlank(sign: string | undefined): boolean {
  return sign === " " || sign === "\n" || sign === "\r" || sign === "\t";
}
