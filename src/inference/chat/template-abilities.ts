// What a model's chat template makes of the conversations that clients send: found by rendering one of each kind when the
// model is loaded, so that its operator learns of it before a client does.
import { plainConversation, type Conversation } from "../../base/domain/chat.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { ChatTemplate } from "../chat-templates/chat-template.ts";

const user = { role: "user", content: "probe-question" };
const tool = {
  type: "function",
  function: {
    name: "probe_tool",
    description: "A probe.",
    parameters: {
      type: "object",
      properties: { probe_argument: { type: "string", description: "A probe." } },
    },
  },
};

interface Probe {
  readonly what: string;
  readonly conversation: Pick<Conversation, "messages" | "tools">;
  /** What the prompt holds where the template shows it. */
  readonly shown: string;
}

const question: Probe = {
  what: "a user's message",
  conversation: { messages: [user], tools: null },
  shown: user.content,
};
const others: readonly Probe[] = [
  {
    what: "a system message",
    conversation: { messages: [{ role: "system", content: "probe-instructions" }, user], tools: null },
    shown: "probe-instructions",
  },
  { what: "tools", conversation: { messages: [user], tools: [tool] }, shown: tool.function.name },
];

/** What of a conversation is not as its sender expects, for people. */
export interface Unshown {
  readonly what: string;
  /** Whether such a conversation is refused; else it is rendered without a word of that. */
  readonly isRefused: boolean;
}

/** What the template refuses or leaves out; one that refuses a user's message is not looked at further. */
export function unshownBy(template: ChatTemplate): readonly Unshown[] {
  const first = faultOf(template, question);
  return first === null ? others.flatMap((probe) => faultOf(template, probe) ?? []) : [first];
}

function faultOf(template: ChatTemplate, { what, conversation, shown }: Probe): Unshown | null {
  try {
    const prompt = template.render({ ...plainConversation, ...conversation });
    return prompt.includes(shown) ? null : { what: `it does not show ${what}`, isRefused: false };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { what: `it cannot render ${what} (${error.message})`, isRefused: true };
  }
}
