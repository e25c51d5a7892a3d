// Layouts of tool calls in an answer, as text templates with slots. A layout describes a format; both the reader of
// calls and the constraint on them are built from it. This module reads no answers.

/** One layout in which calls are written. */
export interface CallLayout {
  /** Frame around a block of calls: a text with the slot `{calls}`. */
  readonly calls: string;
  /** Text between two calls of a block. */
  readonly separator: string;
  /**
   * One call: a text with the slot `{object}`, or with `{name}` and one of `{arguments}`, `{parameters}` and
   * `{keywords}`. May also have `{index}` and `{id}`. Keywords are arguments in Python's notation: `city="Rome",
   * days=3`.
   */
  readonly call: string;
  /** Member names of `{object}`, which is a JSON object with the name and the arguments. */
  readonly object: ObjectMembers;
  /**
   * One parameter in `{parameters}`: a text with `{name}` and `{value}`, and optionally `{isText}`, which becomes true
   * or false. Null if the layout has no `{parameters}`.
   */
  readonly parameter: string | null;
  /** Quote mark around texts, if `{arguments}` are not JSON but have unquoted names; null if they are JSON. */
  readonly quote: string | null;
  /**
   * True if calls may occur only at the beginning of an answer. Calls in such a layout need no mark, but are read only
   * if they name a known function.
   */
  readonly isAtStart: boolean;
  /**
   * True if constraints produce this layout. If false, calls in this layout are only read, and only in unconstrained
   * answers.
   */
  readonly isWritten: boolean;
}

export interface ObjectMembers {
  readonly name: string;
  readonly arguments: string;
  /** Pattern of the id that may follow the arguments of a call; null if calls have no id. */
  readonly id: string | null;
}

export const plainLayout: Omit<CallLayout, "call"> = {
  calls: "{calls}",
  separator: "",
  object: { name: "name", arguments: "arguments", id: null },
  parameter: null,
  quote: null,
  isAtStart: false,
  isWritten: true,
};

/** A call format. */
export interface FormatDescription {
  readonly name: string;
  /** Layouts of calls. The first is the usual one, and the others are accepted variants. */
  readonly layouts: readonly CallLayout[];
  /** True if a model knows the format only from its prompt. Answers are then constrained to the format. */
  readonly isTaught?: boolean;
  /** Text that suggests the format if a template contains it, for templates that write no calls themselves. */
  readonly hint?: string;
  /**
   * Form of the ids of calls. `long`: ids like vLLM's; `short`: nine letters and digits; any other text is a template
   * with `{name}` and `{index}`.
   */
  readonly ids: "long" | "short" | (string & {});
}

const slots = [
  "calls",
  "object",
  "name",
  "arguments",
  "parameters",
  "keywords",
  "value",
  "index",
  "id",
  "isText",
] as const;
export type Slot = (typeof slots)[number];

/** A part of a layout: a fixed text, or a slot. */
export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly words: readonly string[] }
  | { readonly kind: Slot };

const slotPattern = new RegExp(`\\{(${slots.join("|")})\\}`);

/** Splits a layout's text into fixed texts, none of them empty, and slots. */
export function splitLayout(text: string): readonly Piece[] {
  return text.split(slotPattern).flatMap((part, index): readonly Piece[] => {
    const slot = index % 2 === 1 ? slots.find((one) => one === part) : undefined;
    if (slot !== undefined) return [{ kind: slot }];
    return part === "" ? [] : [{ kind: "text", text: part, words: requiredWords(part) }];
  });
}

/** Splits a text into words. A reader requires the words, while the blanks between them are optional. */
export function requiredWords(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** Returns the text before and after the calls of a block. */
export function callFrame({ calls }: CallLayout): { readonly open: string; readonly close: string } {
  const [open = "", close = ""] = calls.split("{calls}");
  return { open, close };
}

/**
 * Returns the word by which a reader recognizes a call. Returns an empty text if the word would be only a brace or
 * bracket of JSON.
 */
export function callMark(layout: CallLayout): string {
  const { open } = callFrame(layout);
  const [first] = splitLayout(layout.call);
  const prefix = first?.kind === "text" ? first.text : "";
  return requiredWords(open)[0] ?? requiredWords(prefix)[0] ?? "";
}

/** Returns the marks of several layouts. Leaves out a mark that begins with another mark. */
export function callMarks(layouts: readonly CallLayout[]): readonly string[] {
  const marks = [...new Set(layouts.map(callMark))];
  return marks.filter((mark) => !marks.some((other) => other !== mark && mark.startsWith(other)));
}
