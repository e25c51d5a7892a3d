// Random generation requests with prompts of all lengths and all options for sampling, output and constraints. All are
// valid.
import type { Random } from "../../../src/base/domain/random.ts";
import { constrainedChats } from "../../../test/fuzz/constrained-chats.ts";
import { logprobOptions } from "../every-option.ts";

export interface RandomRequest {
  readonly path: "/v1/chat/completions" | "/v1/completions" | "/v1/responses";
  readonly body: Readonly<Record<string, unknown>>;
}

type Fields = Readonly<Record<string, unknown>>;

const words = "the a cat bird house Sam Ann said saw big small red one two 3 17 yes no and , . ? \n".split(
  " ",
);

/** Fields for requests that sample; any of them may be combined. */
const samplingFields: readonly ((random: Random) => Fields)[] = [
  (random) => ({ temperature: random.index(3) }),
  (random) => ({ top_p: 0.5 + random.uniform() / 2 }),
  (random) => ({ top_k: 1 + random.index(100), min_p: 0.01 }),
  (random) => ({ repetition_penalty: 1.1, frequency_penalty: random.uniform() }),
  (random) => ({ presence_penalty: random.uniform() - 0.5 }),
  (random) => ({ seed: random.index(1000) }),
  (random) => ({ n: 1 + random.index(6) }),
  () => ({ logit_bias: { 5: 3, 6: -100, 7: 1 } }),
  () => ({ bad_words: ["yes", "no no"] }),
  () => ({ stop: ["cat", "\n\n"] }),
  () => ({ min_tokens: 1 }),
  () => ({ ignore_eos: true }),
];

/**
 * Fields to add to a chat. Each entry is one kind of chat, and all are equally likely; the last ones are ordinary
 * chats.
 */
const kinds: readonly ((random: Random) => Fields)[] = [
  (random) => ({ use_beam_search: true, n: 1 + random.index(4), temperature: 0 }),
  (random) => ({ ...drawn(random), prompt_logprobs: random.index(3) }),
  (random) => ({ ...drawn(random), ...logprobOptions, ...streamed(random) }),
  (random) => ({ ...constrainedChats[random.index(constrainedChats.length)] }),
  ...Array.from({ length: 4 }, () => (random: Random) => ({ ...drawn(random), ...streamed(random) })),
];

/** @param models names of the models to send requests to */
export function randomRequest(random: Random, models: readonly string[]): RandomRequest {
  const model = models[random.index(models.length)];
  const length = 1 + random.index([8, 48, 128][random.index(3)]);
  const shared = {
    model,
    max_tokens: length,
    cache_salt: `salt ${random.index(3)}`,
    priority: random.index(3),
  };
  const text = randomText(random);
  switch (random.index(8)) {
    case 0: {
      const prompt = [text, randomText(random)];
      return { path: "/v1/completions", body: { ...shared, prompt, ...drawn(random), ...streamed(random) } };
    }
    case 1:
      return { path: "/v1/responses", body: { model, input: text, max_output_tokens: length } };
    default: {
      const kind = kinds[random.index(kinds.length)](random);
      return {
        path: "/v1/chat/completions",
        body: { ...shared, messages: messagesOf(random, text), ...kind },
      };
    }
  }
}

function drawn(random: Random): Fields {
  return Object.assign(
    {},
    ...samplingFields.flatMap((make) => (random.index(6) === 0 ? [make(random)] : [])),
  );
}

function streamed(random: Random): Fields {
  return [{}, { stream: true }, { stream: true, stream_options: { include_usage: true } }][random.index(3)];
}

/**
 * Returns a chat's messages. A third of the chats continue one of a few shared conversations, like a later turn of a
 * chat.
 */
function messagesOf(random: Random, text: string): readonly object[] {
  const user = { role: "user", content: text };
  if (random.index(3) > 0) return [user];
  const turns = 1 + random.index(4);
  const earlier = Array.from({ length: turns }, (_, turn) => [
    { role: "user", content: `What did Sam say ${turn} times?` },
    { role: "assistant", content: `He said ${turn}.` },
  ]).flat();
  return [{ role: "system", content: "Be short." }, ...earlier, user];
}

/** Returns a text that is usually short and sometimes long. */
function randomText(random: Random): string {
  const count = 1 + random.index([6, 40, 300][Math.floor(3 * random.uniform() ** 2)]);
  return Array.from({ length: count }, () => words[random.index(words.length)]).join(" ");
}
