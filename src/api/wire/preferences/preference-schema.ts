// Schema of a preference under the names that clients use: TRL's columns, with texts or with messages, and OpenAI's
// fields.
import { Type } from "typebox";
import { exampleMessageSchema } from "../supervised/example-messages.ts";
import { nullable } from "../nullable.ts";
import { choiceFields, promptFields } from "../trajectory.ts";

const open = { additionalProperties: true };

const messages = Type.Array(exampleMessageSchema, { minItems: 1, title: "list[ExampleMessage]" });

const asked = Type.Array(exampleMessageSchema, { minItems: 1, description: "The prompt." });

/** Schema for messages and for recorded Choices. `readPreference` determines which of the two an item is. */
const messageOrChoice = Type.Object(
  {
    ...exampleMessageSchema.properties,
    ...choiceFields,
    role: Type.Optional(exampleMessageSchema.properties.role),
  },
  { ...open, title: "ExampleMessageOrChoice" },
);

const answer = Type.Union([Type.String({ title: "str" }), messageOrChoice, messages]);

const tools = nullable(Type.Array(Type.Object({}, open)), { description: "Tools of the request." });

export const preferenceSchema = Type.Object(
  {
    prompt: nullable(Type.Union([Type.String({ title: "str" }), messages]), {
      description:
        "The prompt: messages, or the text of a user's message. By default the messages that both answers begin with, if they are lists.",
    }),
    messages: nullable(messages, { description: "Alias of prompt." }),
    chosen: nullable(answer, {
      description:
        "The preferred answer: its text, a message, the messages after the prompt, or a Choice as it was returned, which trains by its tokens.",
    }),
    rejected: nullable(answer, { description: "The rejected answer." }),
    completion: nullable(answer, { description: "With the loss kto: an answer judged by itself." }),
    label: nullable(Type.Boolean(), { description: "True if people wanted `completion`." }),
    input: nullable(Type.Object({ messages: asked, tools }, { ...open, title: "PreferenceInput" }), {
      description: "The prompt, in the form of OpenAI's files.",
    }),
    preferred_output: nullable(answer, { description: "Alias of chosen, in OpenAI's files." }),
    non_preferred_output: nullable(answer, {
      description: "Alias of rejected, in OpenAI's files.",
    }),
    tools,
    ...promptFields,
  },
  { ...open, title: "Preference" },
);
