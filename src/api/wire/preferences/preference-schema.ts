// Schema of a preference. It accepts the field names of two kinds of clients: TRL's columns, with texts or messages,
// and OpenAI's fields.
import { Type } from "typebox";
import { exampleMessageSchema } from "../supervised/example-messages.ts";
import { nullable } from "../nullable.ts";
import { choiceFields, promptFields } from "../trajectory.ts";

const open = { additionalProperties: true };

const messages = Type.Array(exampleMessageSchema, { minItems: 1, title: "list[ExampleMessage]" });

const asked = Type.Array(exampleMessageSchema, {
  minItems: 1,
  description: "Messages of the prompt, oldest first.",
});

/** Schema for items that are messages or recorded Choices. `readPreference` determines which one an item is. */
const messageOrChoice = Type.Object(
  {
    ...exampleMessageSchema.properties,
    ...choiceFields,
    role: Type.Optional(exampleMessageSchema.properties.role),
  },
  { ...open, title: "ExampleMessageOrChoice" },
);

const answer = Type.Union([Type.String({ title: "str" }), messageOrChoice, messages]);

const tools = nullable(Type.Array(Type.Object({}, open)), {
  description: "Tools of the prompt, in the form of a chat request.",
});

export const preferenceSchema = Type.Object(
  {
    prompt: nullable(Type.Union([Type.String({ title: "str" }), messages]), {
      description:
        "Prompt of the answers: a list of messages, or the text of a user's message. May be absent if `chosen` and `rejected` are lists of messages; the messages with which both lists begin are then the prompt.",
    }),
    messages: nullable(messages, { description: "Alias of prompt." }),
    chosen: nullable(answer, {
      description:
        "The preferred answer: its text, a message, the messages after the prompt, or a Choice as it was returned. A Choice is trained on with its token ids.",
    }),
    rejected: nullable(answer, { description: "The rejected answer, in the same forms as `chosen`." }),
    completion: nullable(answer, {
      description: "With the loss kto: a single answer, in the same forms as `chosen`.",
    }),
    label: nullable(Type.Boolean(), {
      description: "With `completion`: true if the answer is wanted, false if it is unwanted.",
    }),
    input: nullable(Type.Object({ messages: asked, tools }, { ...open, title: "PreferenceInput" }), {
      description: "Prompt in the form of OpenAI's preference files.",
    }),
    preferred_output: nullable(answer, { description: "Alias of chosen, as in OpenAI's preference files." }),
    non_preferred_output: nullable(answer, {
      description: "Alias of rejected, as in OpenAI's preference files.",
    }),
    tools,
    ...promptFields,
  },
  { ...open, title: "Preference" },
);
