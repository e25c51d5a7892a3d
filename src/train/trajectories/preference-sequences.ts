// Converts a preference to token sequences. A recorded answer yields its recorded prompt and answer tokens. Any other
// answer is rendered after its prompt, in the same way as an example conversation.
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

/**
 * Returns the training sequences of one answer to a preference's prompt, or the reason why the answer is excluded from
 * training.
 */
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

/**
 * Uses the sampled tokens instead of the text, because the answer may have been cut off, or its text may tokenize
 * differently.
 */
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
    // A record that contradicts itself, or comes from another model, excludes only its own answer. The job's other
    // records may be valid.
    if (!(error instanceof ServiceError)) throw error;
    return { reason: "unreadable_tokens", detail: error.message };
  }
}

function isMessage(item: AnswerMessages[number]): item is MessageRecord {
  return asChoice(item) === null;
}
