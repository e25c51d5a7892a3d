// A model folder's tokenizer and chat template as trajectories/ wants them. Prompts come from the one renderer that
// serving uses too.
import { plainConversation } from "../../base/domain/chat.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import type { ChatTemplate } from "../../inference/chat-templates/chat-template.ts";
import { renderPrompt } from "../../inference/chat-templates/render-prompt.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import type { ConversationTokenizer } from "../trajectories/conversation-tokenizer.ts";

/** @param vocabularySize how many ids the model's logits cover */
export function createConversationTokenizer(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  vocabularySize: number,
): ConversationTokenizer {
  let idOfBytes: ReadonlyMap<string, number> | null = null;
  return {
    vocabularySize,
    encode: (text) => tokenizer.encode(text, { addSpecialTokens: false }),
    renderPrompt: (messages, tools, { addSpecialTokens = false, ...asked }) => {
      const conversation = {
        // What has no role the template refuses, or leaves out, as it would in serving.
        messages: messages as readonly MessageRecord[],
        ...plainConversation,
        tools,
        ...asked,
      };
      return renderPrompt(tokenizer, template, conversation, { addSpecialTokens });
    },
    idOfToken: (text, bytes) => {
      idOfBytes ??= indexTokens(tokenizer);
      return idOfBytes.get(keyOf(bytes === null ? Buffer.from(text, "utf8") : Buffer.from(bytes))) ?? null;
    },
  };
}

/** Of tokens with equal bytes the first counts. */
function indexTokens(tokenizer: Tokenizer): ReadonlyMap<string, number> {
  const idOfBytes = new Map<string, number>();
  for (let id = tokenizer.vocabularySize - 1; id >= 0; id--) {
    const bytes = tokenizer.tokenBytes(id);
    if (bytes.length > 0) idOfBytes.set(keyOf(bytes), id);
  }
  return idOfBytes;
}

function keyOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}
