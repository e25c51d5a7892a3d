// For tests: random valid feedback queries in the request format.
import type { Random } from "../../../../base/domain/random.ts";
import { numbers, payloadPaths, pick, texts } from "./random-feedback.ts";

/** An operation or an operand of a query, in the request format. */
export type Sent = { readonly [name: string]: unknown };

const textFields = [
  "id",
  "weave_ref",
  "vendor_ref",
  "wb_user_id",
  "feedback_type",
  "creator",
  "queue_id",
  "call_ref",
  "call_id",
];
const values: Readonly<Record<string, readonly string[]>> = {
  id: ["r1", "r77", "r1999"],
  weave_ref: ["w:///team/games/call/3", "w:///team/games/call/49"],
  feedback_type: ["note", "score", "vendor.reaction.1"],
  wb_user_id: ["ann", "bob"],
  queue_id: ["q1", "q2"],
  call_id: ["3", "49"],
};
const comparisons = ["$eq", "$eq", "$gt", "$gte", "$lt", "$lte"];

const literal = (value: unknown): Sent => ({ $literal: value });
const field = (name: string): Sent => ({ $getField: name });
const payloadField = (random: Random): Sent => field(`payload.${pick(random, payloadPaths)}`);

export interface SentQuery {
  readonly query: Sent;
  readonly sort_by: readonly { readonly field: string; readonly direction: "asc" | "desc" }[];
  readonly limit: number;
  readonly offset: number;
}

export function randomQuery(random: Random): SentQuery {
  const sortable = [
    "created_at",
    "id",
    "feedback_type",
    "creator",
    "call_id",
    ...payloadPaths.map((path) => `payload.${path}`),
  ];
  const keys = Array.from({ length: Math.floor(random.uniform() * 3) }, () => ({
    field: pick(random, sortable),
    direction: random.uniform() < 0.5 ? ("asc" as const) : ("desc" as const),
  }));
  return {
    query: { $expr: operation(random, 0) },
    sort_by: keys,
    limit: pick(random, [0, 1, 7, 25, 100, 100, 100, 3000]),
    offset: pick(random, [0, 0, 1, 13, 500]),
  };
}

function operation(random: Random, depth: number): Sent {
  const kind = random.uniform();
  if (depth < 3 && kind < 0.35) {
    const parts = Array.from({ length: 1 + Math.floor(random.uniform() * 3) }, () =>
      operation(random, depth + 1),
    );
    return { [random.uniform() < 0.5 ? "$and" : "$or"]: parts };
  }
  if (depth < 3 && kind < 0.45) return { $not: [operation(random, depth + 1)] };
  if (kind < 0.55) return containing(random);
  if (kind < 0.65) return oneOf(random);
  return comparison(random, depth);
}

function comparison(random: Random, depth: number): Sent {
  const sides = pair(random, depth);
  return { [pick(random, comparisons)]: random.uniform() < 0.2 ? sides.toReversed() : sides };
}

/** Returns two random operands whose types can be compared. */
function pair(random: Random, depth: number): readonly Sent[] {
  const kind = random.uniform();
  if (kind < 0.25) return [payloadField(random), literal(pick(random, numbers))];
  if (kind < 0.4) return [payloadField(random), literal(pick(random, texts))];
  if (kind < 0.45) return [payloadField(random), literal(random.uniform() < 0.5)];
  if (kind < 0.5) return [payloadField(random), payloadField(random)];
  if (kind < 0.55) return [random.uniform() < 0.5 ? payloadField(random) : field("creator"), literal(null)];
  if (kind < 0.6) return [field("created_at"), literal(1_767_225_600 + Math.floor(random.uniform() * 800))];
  if (kind < 0.65)
    return [field("created_at"), literal(`2026-01-01T00:0${Math.floor(random.uniform() * 10)}:30.5`)];
  if (kind < 0.7) return [{ $size: payloadField(random) }, literal(pick(random, [0, 1, 2]))];
  if (kind < 0.75) return [converted(random, "double"), literal(pick(random, numbers))];
  if (kind < 0.78) return [converted(random, "int"), literal(pick(random, [-1, 0, 1, 9]))];
  if (kind < 0.82) return [converted(random, "string"), literal(pick(random, texts))];
  if (kind < 0.85) return [converted(random, "bool"), literal(random.uniform() < 0.5)];
  if (kind < 0.88) return [converted(random, "exists"), literal(random.uniform() < 0.5)];
  if (kind < 0.9 && depth < 3) return [operation(random, depth + 1), literal(random.uniform() < 0.5)];
  if (kind < 0.92) return [literal(pick(random, texts)), literal(pick(random, texts))];
  if (kind < 0.94) return [field("creator"), payloadField(random)];
  const name = pick(random, textFields);
  return [field(name), literal(pick(random, values[name] ?? texts))];
}

function converted(random: Random, to: string): Sent {
  const input = random.uniform() < 0.8 ? payloadField(random) : field("creator");
  return { $convert: { input, to } };
}

function containing(random: Random): Sent {
  const input = random.uniform() < 0.7 ? payloadField(random) : field("creator");
  const substr =
    random.uniform() < 0.9
      ? literal(pick(random, ["o", "G", "%", "_", "\\", "é", "1", '"', "\0", ""]))
      : payloadField(random);
  return {
    $contains: {
      input,
      substr,
      ...(random.uniform() < 0.5 ? { case_insensitive: random.uniform() < 0.5 } : {}),
    },
  };
}

function oneOf(random: Random): Sent {
  if (random.uniform() < 0.5) {
    const options = [literal(pick(random, texts)), literal(pick(random, numbers)), literal(null)];
    return { $in: [payloadField(random), options.slice(0, Math.floor(random.uniform() * 4))] };
  }
  return { $in: [field("feedback_type"), [literal("note"), literal("other")]] };
}
