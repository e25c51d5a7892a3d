// From a preference to token sequences: each answer behind the prompt that serving would give for it, as an example
// conversation whose prompt is context.
import type { AnswerMessages, PreferenceExample } from "../domain/preferences/preference.ts";
import { type ExampleSequences, exampleSequences, type TurnRenderer } from "./example-sequences.ts";

/** What an answer to a preference's prompt gives, or why it does not train. */
export function answerSequences(
  { messages, tools, extra }: Pick<PreferenceExample, "messages" | "tools" | "extra">,
  answer: AnswerMessages,
  renderer: TurnRenderer,
): ExampleSequences {
  const prompt = messages.map((message) => ({ ...message, weight: 0 }));
  return exampleSequences({ messages: [...prompt, ...answer], tools, extra }, renderer);
}
