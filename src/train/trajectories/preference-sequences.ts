// Converts a preference to token sequences. A recorded answer uses its tokens after its recorded prompt. Any other is
// rendered after the prompt that serving would render, as an example conversation whose prompt is context.
import type { AnswerMessages, PreferenceExample } from "../../base/domain/preferences/preference.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import {
  asChoice,
  type ChoiceRecord,
  type MessageRecord,
  withoutTokens,
} from "../../base/domain/trajectory.ts";
import { type ConversationTokenizer, promptArgumentsOf } from "./conversation-tokenizer.ts";
import { type ExampleSequences, exampleSequences, type TurnRenderer } from "./example-sequences.ts";
import { choiceTurns } from "./history-turns.ts";
import { sequencesOfTurns } from "./sequences.ts";

type Prompt = Pick<PreferenceExample, "messages" | "tools" | "extra">;

/** Sequences of an answer to a preference's prompt, or the reason why it does not train. */
export function answerSequences(
  prompt: Prompt,
  answer: AnswerMessages,
  tokenizer: TurnRenderer & ConversationTokenizer,
): ExampleSequences {
  const { messages, tools, extra } = prompt;
  const [recorded] = answer.flatMap((item) => asChoice(item) ?? []);
  if (recorded !== undefined) return choiceSequences(prompt, recorded, tokenizer);
  const context = messages.map((message) => ({ ...message, weight: 0 }));
  return exampleSequences({ messages: [...context, ...answer.filter(isMessage)], tools, extra }, tokenizer);
}

/** Uses the sampled tokens: the answer may have been cut short, or its text may tokenize differently. */
function choiceSequences(
  { messages, tools, extra }: Prompt,
  choice: ChoiceRecord,
  tokenizer: ConversationTokenizer,
): ExampleSequences {
  const history = { messagesAndChoices: [...messages.map(withoutTokens), choice], tools };
  const context = { tokenizer, location: [], promptArguments: promptArgumentsOf(extra) };
  try {
    const { turns, untrained } = choiceTurns(history, context);
    const [fault] = untrained;
    if (fault !== undefined) return fault;
    const sequences = sequencesOfTurns(turns)
      .map(({ sequence }) => sequence)
      .filter(({ mask }) => mask.includes(1));
    if (sequences.length > 0) return { sequences };
    return { reason: "no_trainable_tokens", detail: "None of its tokens stands behind another." };
  } catch (error) {
    // A contradictory record, or one of another model, excludes only itself: the job's other records may be valid.
    if (!(error instanceof ServiceError)) throw error;
    return { reason: "unreadable_tokens", detail: error.message };
  }
}

function isMessage(item: AnswerMessages[number]): item is MessageRecord {
  return asChoice(item) === null;
}
