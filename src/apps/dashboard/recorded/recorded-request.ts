// The request of a recorded conversation, as code and as a chat that continues it. Has no side effects.
import type { RecordedCompletion } from "../../client/api.ts";
import { chatSettings, type ChatSettings, putChatSettings } from "../chat/chat-settings.ts";
import { encoded, type Reply, type Round } from "../chat/conversation.ts";
import { noAnswer } from "../chat/stream-answer.ts";

type Recorded = Pick<
  RecordedCompletion,
  "id" | "model_id" | "step" | "messages" | "tools" | "sampling" | "choices"
>;

/** Returns the body of a request for the same answer; null if the messages are not recorded. */
export function recordedBody(recorded: Recorded): object | null {
  const { messages, tools, sampling, choices } = recorded;
  if (messages === null) return null;
  return {
    model: versionName(recorded),
    messages,
    ...(choices.length > 1 && { n: choices.length }),
    ...(tools !== null && tools.length > 0 && { tools }),
    ...(sampling !== null && {
      temperature: sampling.temperature,
      ...given("top_p", sampling.top_p, 1),
      ...(sampling.top_k > 0 && { top_k: sampling.top_k }),
      ...given("min_p", sampling.min_p, 0),
      ...given("presence_penalty", sampling.presence_penalty, 0),
      ...given("frequency_penalty", sampling.frequency_penalty, 0),
      ...given("repetition_penalty", sampling.repetition_penalty, 1),
      max_completion_tokens: sampling.max_tokens,
      seed: sampling.seed,
      ...(sampling.stop.length > 0 && { stop: sampling.stop }),
    }),
  };
}

/** Returns the name of the version that answered. */
function versionName({ model_id: modelId, step }: Recorded): string {
  return `${modelId}:step${step}`;
}

function given(name: string, value: number, neutral: number): object {
  return value === neutral ? {} : { [name]: value };
}

/**
 * Returns the query of a chat with the recorded messages, the first answer and the sampling options. Null if the view
 * Chat cannot hold the messages, for example because one is a picture.
 */
export function recordedChatQuery(recorded: Recorded): Readonly<Record<string, string>> | null {
  const { id, tools, sampling, choices } = recorded;
  const seed = sampling === null ? null : String(sampling.seed);
  const answer = choices[0]?.message;
  const read = readMessages([...(recorded.messages ?? []), ...(answer === undefined ? [] : [answer])]);
  if (recorded.messages === null || read === null) return null;
  const kept = encoded(withSource(read.rounds, id, seed));
  if (kept === null) return null;
  const query = new URLSearchParams();
  const text = (value: number | undefined, neutral: number): string =>
    value === undefined || value === neutral ? "" : String(value);
  const settings: ChatSettings = {
    ...chatSettings(query, versionName(recorded)),
    system: read.system,
    ...(sampling !== null && {
      temperature: String(sampling.temperature),
      topP: text(sampling.top_p, 1),
      topK: sampling.top_k > 0 ? String(sampling.top_k) : "",
      minP: text(sampling.min_p, 0),
      presencePenalty: text(sampling.presence_penalty, 0),
      frequencyPenalty: text(sampling.frequency_penalty, 0),
      repetitionPenalty: text(sampling.repetition_penalty, 1),
      maxTokens: String(sampling.max_tokens),
      stop: sampling.stop.join("\n"),
    }),
    tools: tools === null || tools.length === 0 ? "" : JSON.stringify(tools),
  };
  putChatSettings(query, settings);
  query.set("c", kept);
  return Object.fromEntries(query);
}

/** Returns the system prompt and the rounds of messages; null if a message has no place in a round. */
function readMessages(
  messages: readonly object[],
): { readonly system: string; readonly rounds: readonly Round[] } | null {
  let system = "";
  let rounds: readonly Round[] = [];
  for (const [index, message] of messages.entries()) {
    const {
      role,
      content,
      tool_calls: calls,
      tool_call_id: callId,
    } = message as Partial<Readonly<Record<string, unknown>>>;
    const text = content ?? "";
    if (typeof text !== "string") return null;
    const [last, replies] = [rounds.at(-1), rounds.at(-1)?.columns[0] ?? []];
    if (role === "system" && index === 0) system = text;
    else if (role === "user") rounds = [...rounds, { question: text, columns: [[]] }];
    else if (last === undefined) return null;
    else if (role === "assistant")
      rounds = [...rounds.slice(0, -1), { ...last, columns: [[...replies, replyOf(text, calls)]] }];
    else if (role === "tool" && typeof callId === "string") {
      const answered = replies.map((reply, place) =>
        place < replies.length - 1 ? reply : { ...reply, results: { ...reply.results, [callId]: text } },
      );
      rounds = [...rounds.slice(0, -1), { ...last, columns: [answered] }];
    } else return null;
  }
  return rounds.length === 0 ? null : { system, rounds };
}

function replyOf(text: string, calls: unknown): Reply {
  // Safe cast: the server has checked the calls of recorded messages.
  const given = (Array.isArray(calls) ? calls : []) as readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  const toolCalls = given.map(({ id, function: { name, arguments: values } }) => ({
    id,
    name,
    arguments: values,
  }));
  return { kind: "ended", answer: { ...noAnswer, text, toolCalls }, failure: null, results: {}, seed: null };
}

/** Gives the newest answer the id and the seed of the recorded completion. */
function withSource(rounds: readonly Round[], id: string, seed: string | null): readonly Round[] {
  return rounds.map((round, index) => ({
    ...round,
    columns: round.columns.map((replies) =>
      replies.map((reply, place) =>
        index === rounds.length - 1 && place === replies.length - 1
          ? { ...reply, answer: { ...reply.answer, id }, seed }
          : reply,
      ),
    ),
  }));
}
