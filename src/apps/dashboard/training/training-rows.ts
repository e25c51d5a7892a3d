// Reads a file of training data, a JSON object per line, before it is uploaded. Has no side effects.

/** Kinds of jobs that train on a file, with their titles. */
export const fileKinds = { sft: "supervised", preference: "preferences" } as const;
export type FileKind = keyof typeof fileKinds;

export type TrainingRow = Readonly<Record<string, unknown>>;

export interface TrainingRows {
  readonly rows: readonly TrainingRow[];
  /** Faults of lines, such as `Line 3: …`; at most `faultsMax`. */
  readonly faults: readonly string[];
}

const faultsMax = 10;

/** Reads all lines. It only checks what each row needs to be shown; the server checks the rest. */
export function readRows(text: string, kind: FileKind): TrainingRows {
  const rows: TrainingRow[] = [];
  const faults: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const row = rowIn(line);
    const fault = row === null ? "not a JSON object" : missingIn(row, kind);
    if (row !== null && fault === null) rows.push(row);
    else if (faults.length < faultsMax) faults.push(`Line ${index + 1}: ${fault}.`);
  }
  return { rows, faults };
}

function rowIn(line: string): TrainingRow | null {
  try {
    const value: unknown = JSON.parse(line);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    // Safe cast: checked to be an object.
    return isObject ? (value as TrainingRow) : null;
  } catch {
    return null;
  }
}

function missingIn(row: TrainingRow, kind: FileKind): string | null {
  if (kind === "sft")
    return messagesIn(row["messages"]).some(({ role }) => role === "assistant")
      ? null
      : "it has no messages of an assistant to train on";
  return "prompt" in row || "input" in row ? null : "it has no prompt";
}

export interface ShownMessage {
  readonly role: string;
  readonly text: string;
  /** True if the job trains on this text. */
  readonly isTrained: boolean;
}

/** Returns the messages of a row, with those that the job trains on. */
export function shownMessages(row: TrainingRow, kind: FileKind): readonly ShownMessage[] {
  if (kind === "sft")
    return messagesIn(row["messages"]).map((message) => ({
      ...message,
      isTrained: message.role === "assistant",
    }));
  const answers = Object.entries(row).filter(([name]) => name !== "prompt" && name !== "input");
  return [
    { role: "prompt", text: textOf(row["prompt"] ?? row["input"]), isTrained: false },
    ...answers.map(([role, value]) => ({ role, text: textOf(value), isTrained: typeof value !== "boolean" })),
  ];
}

function messagesIn(value: unknown): readonly { readonly role: string; readonly text: string }[] {
  if (!Array.isArray(value)) return [];
  return value.map((message: { readonly role?: unknown; readonly content?: unknown } | null) => ({
    role: typeof message?.role === "string" ? message.role : "?",
    text: textOf(message?.content),
  }));
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value))
    return messagesIn(value)
      .map(({ text }) => text)
      .join("\n");
  return value === undefined || value === null ? "" : JSON.stringify(value);
}
