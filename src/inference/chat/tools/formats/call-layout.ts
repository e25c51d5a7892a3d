// How calls of tools are laid out in an answer, as texts with slots: what a format of calls is described by, and what both
// the reader of calls and the constraint on them are made of. Pure data; nothing here reads an answer.

/** One way to write calls. */
export interface CallLayout {
  /** The calls of one block with what stands around them: a text with `{calls}`. */
  readonly calls: string;
  /** What stands between two calls of a block. */
  readonly separator: string;
  /**
   * One call: a text with `{object}`, or with `{name}` and `{arguments}`, `{parameters}` or `{keywords}`; also `{index}` and
   * `{id}`. Keywords are arguments as Python writes them: `city="Rome", days=3`.
   */
  readonly call: string;
  /** Of `{object}`: a JSON object with the name and the arguments as members. */
  readonly object: ObjectMembers;
  /** Of `{parameters}`: one parameter, a text with `{name}` and `{value}`; also `{isText}`, which is true or false. */
  readonly parameter: string | null;
  /** Of `{arguments}`: what stands at both ends of texts where arguments are not JSON, and names stand as they are. */
  readonly quote: string | null;
  /** Whether calls are all that an answer begins with: such a layout needs nothing that marks calls, but known functions. */
  readonly isAtStart: boolean;
  /** Whether answers may be held to this layout; where not, it is read only where nothing holds the answer. */
  readonly isWritten: boolean;
}

export interface ObjectMembers {
  readonly name: string;
  readonly arguments: string;
  /** A pattern for an id that may follow the arguments; null where there is none. */
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

/** A format of calls. */
export interface FormatDescription {
  readonly name: string;
  /** The first is how calls are written, the others how they may be. */
  readonly layouts: readonly CallLayout[];
  /** Whether a model knows of it from its prompt alone, and its answers are held to it. */
  readonly isTaught?: boolean;
  /** A text by which a template that writes no calls itself shows that its model knows the format. */
  readonly hint?: string;
  /** How ids of calls look: as vLLM's, nine letters and digits, or a text with `{name}` and `{index}`. */
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

/** A part of a layout: a text, or a slot. */
export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly words: readonly string[] }
  | { readonly kind: Slot };

const slotPattern = new RegExp(`\\{(${slots.join("|")})\\}`);

/** The texts and slots of a layout's text; no text is empty. */
export function piecesOf(text: string): readonly Piece[] {
  return text.split(slotPattern).flatMap((part, index): readonly Piece[] => {
    const slot = index % 2 === 1 ? slots.find((one) => one === part) : undefined;
    if (slot !== undefined) return [{ kind: slot }];
    return part === "" ? [] : [{ kind: "text", text: part, words: wordsOf(part) }];
  });
}

/** What of a text counts when it is read: the blanks are layout. */
export function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** What stands around the calls of a block. */
export function aroundCalls({ calls }: CallLayout): { readonly open: string; readonly close: string } {
  const [open = "", close = ""] = calls.split("{calls}");
  return { open, close };
}

/** The word by which a reader knows where calls may begin; empty where that is nothing but a JSON object's own sign. */
export function markOf(layout: CallLayout): string {
  const { open } = aroundCalls(layout);
  const [first] = piecesOf(layout.call);
  const prefix = first?.kind === "text" ? first.text : "";
  return wordsOf(open)[0] ?? wordsOf(prefix)[0] ?? "";
}

/** The marks of some layouts; one that begins with another is not told apart from it. */
export function marksOf(layouts: readonly CallLayout[]): readonly string[] {
  const marks = [...new Set(layouts.map(markOf))];
  return marks.filter((mark) => !marks.some((other) => other !== mark && mark.startsWith(other)));
}
