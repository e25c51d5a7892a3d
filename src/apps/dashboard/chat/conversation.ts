// A conversation with one or more models: rounds of a question and each model's replies. Has no side effects.
import { type AnswerState, type CalledTool, noAnswer } from "./stream-answer.ts";

/** One answer of a model. A model that calls tools gives several answers in a round. */
export interface Reply {
  readonly kind: "running" | "ended" | "stopped" | "failed";
  readonly answer: AnswerState;
  /** Why the answer failed; null for other answers. */
  readonly failure: string | null;
  /** Results of the tools that the answer calls, by the call's id. */
  readonly results: Readonly<Record<string, string>>;
  /** Seed of the request; null if unknown. */
  readonly seed: string | null;
}

export interface Round {
  readonly question: string;
  /** Replies of each model, in the order of the models. */
  readonly columns: readonly (readonly Reply[])[];
}

/** A message of a chat request. */
export type Message =
  | { readonly role: "system" | "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly type: "function";
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

export const runningReply: Reply = {
  kind: "running",
  answer: noAnswer,
  failure: null,
  results: {},
  seed: null,
};

/** Returns the messages of a model's conversation, with its answers so far. */
export function messagesOf(rounds: readonly Round[], column: number, system: string): readonly Message[] {
  const start: readonly Message[] = system.trim() === "" ? [] : [{ role: "system", content: system }];
  const said = rounds.flatMap(({ question, columns }): readonly Message[] => [
    { role: "user", content: question },
    // A model that joined later continues from the first model's answers.
    ...(columns[column] ?? columns[0] ?? [])
      .filter(({ kind }) => kind !== "running")
      .flatMap(messagesOfReply),
  ]);
  return [...start, ...said];
}

/** Returns the messages of the request that a model's newest answer answers. */
export function messagesBefore(rounds: readonly Round[], column: number, system: string): readonly Message[] {
  const asked = rounds.map((round, index) =>
    index < rounds.length - 1
      ? round
      : { ...round, columns: round.columns.map((replies) => replies.slice(0, -1)) },
  );
  return messagesOf(asked, column, system);
}

function messagesOfReply({ answer: { text, toolCalls }, results }: Reply): readonly Message[] {
  const calls = toolCalls.map(({ id, name, arguments: given }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: given },
  }));
  return [
    { role: "assistant", content: text, ...(calls.length > 0 && { tool_calls: calls }) },
    ...toolCalls.map(({ id }) => ({ role: "tool" as const, tool_call_id: id, content: results[id] ?? "" })),
  ];
}

/** Returns the rounds, with a model's newest reply in one of the rounds replaced by `reply`. */
export function withReply(
  rounds: readonly Round[],
  { round, column }: { readonly round: number; readonly column: number },
  reply: Reply,
): readonly Round[] {
  return rounds.map((one, index) => {
    if (index !== round) return one;
    const columns = one.columns.map((replies, place) =>
      place === column ? [...replies.slice(0, -1), reply] : replies,
    );
    return { ...one, columns };
  });
}

/** Maximum length of a conversation in the address. Longer addresses cannot be sent everywhere. */
const encodedMax = 12_000;

/** Encodes a conversation for the address; null if it is too long. Tokens and times are left out. */
export function encoded(rounds: readonly Round[]): string | null {
  const short = rounds.map(({ question, columns }) => ({
    q: question,
    c: columns.map((replies) =>
      replies.map(({ answer: { id, text, thoughts, toolCalls }, results, seed }) => ({
        a: text,
        ...(id !== null && { i: id }),
        ...(seed !== null && { s: seed }),
        ...(thoughts !== "" && { t: thoughts }),
        ...(toolCalls.length > 0 && { f: toolCalls, r: results }),
      })),
    ),
  }));
  const text = JSON.stringify(short);
  return text.length > encodedMax ? null : text;
}

interface ShortReply {
  readonly a: string;
  readonly i?: string | null;
  readonly s?: string | null;
  readonly t?: string;
  readonly f?: readonly CalledTool[];
  readonly r?: Readonly<Record<string, string>>;
}

/** Decodes a conversation; an unreadable one counts as empty. */
export function decoded(text: string | null): readonly Round[] {
  if (text === null) return [];
  try {
    const short = JSON.parse(text) as readonly { q: string; c: readonly (readonly ShortReply[])[] }[];
    return short.map(({ q: question, c }) => ({
      question,
      columns: c.map((replies) => replies.map(replyOf)),
    }));
  } catch {
    // The address is damaged, for example because it was cut off. The user cannot repair it, so no error is shown.
    return [];
  }
}

function replyOf({ a, i = null, s = null, t = "", f = [], r = {} }: ShortReply): Reply {
  const answer = { ...noAnswer, id: i, text: a, thoughts: t, toolCalls: f };
  return { kind: "ended", answer, failure: null, results: r, seed: s };
}
