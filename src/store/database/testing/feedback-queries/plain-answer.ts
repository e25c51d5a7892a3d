// For tests: answers a feedback query from its request format, record by record. Shares no code with the server's
// parser or store.
import type { FeedbackRecord } from "../../../../base/domain/feedback.ts";
import type { Json } from "../../../../base/domain/text/json.ts";
import type { Sent, SentQuery } from "./random-queries.ts";

/** Value of an operand for one record: a text, a number, a boolean, a time, nothing, or a value of the payload. */
type Operand =
  | { readonly type: "text"; readonly value: string | null }
  | { readonly type: "number" | "time"; readonly value: number | null }
  | { readonly type: "boolean"; readonly value: boolean | null }
  | { readonly type: "null"; readonly value: null }
  | { readonly type: "json"; readonly value: Json | undefined };

/** Returns the ids of the records on the requested page, and the number of all matches. */
export function plainAnswer(
  records: readonly FeedbackRecord[],
  projectId: string,
  sent: SentQuery,
): { readonly ids: readonly string[]; readonly totalCount: number } {
  const found = records.filter(
    (record) => record.projectId === projectId && truth(sent.query["$expr"] as Sent, record) === true,
  );
  const keys = sent.sort_by.length > 0 ? sent.sort_by : [{ field: "created_at", direction: "asc" } as const];
  const sorted = found
    .map((record, index) => ({ record, index }))
    .sort((a, b) => {
      for (const key of keys) {
        const order = sortOrder(key, a.record, b.record);
        if (order !== 0) return order;
      }
      return a.index - b.index;
    });
  const page = sorted.slice(sent.offset, sent.offset + sent.limit);
  return { ids: page.map(({ record }) => record.id), totalCount: found.length };
}

function sortOrder(
  { field, direction }: SentQuery["sort_by"][number],
  a: FeedbackRecord,
  b: FeedbackRecord,
): number {
  const [first, second] = [fieldOperand(field, a), fieldOperand(field, b)];
  const [x, y] = [textOf(first, null), textOf(second, null)];
  if (x === null || y === null) return (x === null ? 1 : 0) - (y === null ? 1 : 0);
  const turn = direction === "asc" ? 1 : -1;
  if (first.type === "json") {
    const [m, n] = [asNumber(x), asNumber(y)];
    if ((m === null) !== (n === null)) return m === null ? 1 : -1;
    if (m !== null && n !== null && m !== n) return m < n ? -turn : turn;
  }
  return turn * bytesOrder(x, y);
}

function truth(sent: Sent, record: FeedbackRecord): boolean | null {
  const [name] = Object.keys(sent);
  // Safe cast: the generator of queries creates an argument of the right type.
  const argument = sent[name] as never;
  switch (name) {
    case "$and":
    case "$or": {
      const parts = (argument as readonly Sent[]).map((part) => truth(part, record));
      const decisive = name === "$or";
      if (parts.includes(decisive)) return decisive;
      return parts.includes(null) ? null : !decisive;
    }
    case "$not": {
      const value = truth((argument as readonly Sent[])[0], record);
      return value === null ? null : !value;
    }
    case "$in": {
      const [value, options] = argument as readonly [Sent, readonly Sent[]];
      const parts = options.map((option) => compared("$eq", operand(value, record), operand(option, record)));
      if (parts.includes(true)) return true;
      return parts.includes(null) ? null : false;
    }
    case "$contains": {
      const {
        input,
        substr,
        case_insensitive: ignoresCase,
      } = argument as {
        readonly input: Sent;
        readonly substr: Sent;
        readonly case_insensitive?: boolean;
      };
      const [text, part] = [textOf(operand(input, record), ""), textOf(operand(substr, record), "")];
      if (text === null || part === null) return null;
      const fold = (each: string) =>
        ignoresCase === true ? each.replace(/[A-Z]/g, (c) => c.toLowerCase()) : each;
      return fold(text).includes(fold(part));
    }
    default: {
      const [left, right] = argument as readonly Sent[];
      return compared(name, operand(left, record), operand(right, record));
    }
  }
}

function operand(sent: Sent, record: FeedbackRecord): Operand {
  if ("$literal" in sent) return literal(sent["$literal"]);
  if ("$getField" in sent) return fieldOperand(sent["$getField"] as string, record);
  if ("$size" in sent) {
    const { value } = operand(sent["$size"] as Sent, record);
    return { type: "number", value: Array.isArray(value) ? value.length : null };
  }
  if ("$convert" in sent) {
    const { input, to } = sent["$convert"] as { readonly input: Sent; readonly to: string };
    const value = operand(input, record);
    const text = textOf(value, null);
    const number = text === null ? null : asNumber(text);
    if (to === "exists") return { type: "boolean", value: text !== null };
    if (to === "double") return { type: "number", value: number };
    if (to === "int")
      return {
        type: "number",
        value: number === null ? null : number < 0 ? Math.ceil(number) : Math.floor(number),
      };
    if (to === "string") return { type: "text", value: textOf(value, "") };
    return { type: "boolean", value: asBoolean(text) };
  }
  return { type: "boolean", value: truth(sent, record) };
}

function literal(value: unknown): Operand {
  if (value === null) return { type: "null", value };
  if (typeof value === "string") return { type: "text", value: clean(value) };
  if (typeof value === "number") return { type: "number", value };
  return { type: "boolean", value: value === true };
}

const columns: Readonly<Record<string, keyof FeedbackRecord>> = {
  id: "id",
  project_id: "projectId",
  weave_ref: "vendorRef",
  vendor_ref: "vendorRef",
  wb_user_id: "vendorUserId",
  feedback_type: "feedbackType",
  creator: "creator",
  queue_id: "queueId",
  call_ref: "callRef",
};

function fieldOperand(name: string, record: FeedbackRecord): Operand {
  if (name === "created_at") return { type: "time", value: record.createdAt.getTime() };
  if (name === "call_id") {
    const [, , , entity = "", project = "", , id = null] = record.vendorRef.split("/");
    return { type: "text", value: `${entity}/${project}` === record.projectId ? id : null };
  }
  if (name in columns) {
    const text = record[columns[name]] as string | null;
    return { type: "text", value: text === null ? null : clean(text) };
  }
  // Handles only the kinds of paths that the generator of queries writes.
  let value: Json | undefined = record.payload;
  for (const part of name.slice("payload.".length).split(/(?<!\\)\./)) {
    const isIndex = /^\d+$/.test(part);
    const key = part.replace("\\", "");
    if (value === null || typeof value !== "object") value = undefined;
    else if (Array.isArray(value)) value = isIndex ? (value[Number(part)] as Json) : undefined;
    else value = isIndex ? undefined : (value as { readonly [name: string]: Json })[key];
    if (value === undefined) break;
  }
  return { type: "json", value };
}

/** Returns an operand as text. For a payload value that is absent or null, returns `missing`. */
function textOf({ type, value }: Operand, missing: string | null): string | null {
  if (type !== "json") return value === null ? null : String(value);
  if (value === undefined || value === null) return missing;
  return clean(
    typeof value === "string"
      ? value
      : JSON.stringify(value, (_, each: unknown) => (typeof each === "string" ? clean(each) : each)),
  );
}

function clean(text: string): string {
  return Buffer.from(text).toString().replaceAll("\0", "\ufffd");
}

function asNumber(text: string): number | null {
  if (text.length > 24 || text !== text.trim()) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  } catch {
    return null;
  }
}

function asBoolean(text: string | null): boolean | null {
  return text === "true" ? true : text === "false" ? false : null;
}

function compared(operator: string, a: Operand, b: Operand): boolean | null {
  if (a.type === "null" || b.type === "null") {
    if (operator !== "$eq") return null;
    const other = a.type === "null" ? b : a;
    return textOf(other, null) === null;
  }
  const order = orderOf(a, b);
  if (order === null) return null;
  if (operator === "$eq") return order === 0;
  if (operator === "$gt") return order > 0;
  if (operator === "$gte") return order >= 0;
  return operator === "$lt" ? order < 0 : order <= 0;
}

function orderOf(a: Operand, b: Operand): number | null {
  const types = new Set([a.type, b.type]);
  if (types.has("time")) {
    const [x, y] = [asTime(a), asTime(b)];
    return x - y;
  }
  if (types.has("number")) {
    const [x, y] = [a, b].map((each) =>
      each.type === "number" ? each.value : asNumber(textOf(each, "") ?? ""),
    );
    return x === null || y === null ? null : x < y ? -1 : x > y ? 1 : 0;
  }
  if (types.has("boolean")) {
    const [x, y] = [a, b].map((each) =>
      each.type === "boolean" ? each.value : asBoolean(textOf(each, null)),
    );
    return x === null || y === null ? null : Number(x) - Number(y);
  }
  const [x, y] = [textOf(a, ""), textOf(b, "")];
  return x === null || y === null ? null : bytesOrder(x, y);
}

function asTime({ type, value }: Operand): number {
  if (type === "time") return Number(value);
  return type === "number" ? Number(value) * 1000 : Date.parse(`${value as string}Z`);
}

function bytesOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
