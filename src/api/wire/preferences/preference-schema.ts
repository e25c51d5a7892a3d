// A preference as clients spell it: TRL's columns, with texts or with messages, and OpenAI's.
import { Type } from "typebox";
import { exampleMessageSchema } from "../supervised/example-messages.ts";
import { nullable } from "../nullable.ts";
import { choiceFields, promptFields } from "../trajectory.ts";

const open = { additionalProperties: true };

const messages = Type.Array(exampleMessageSchema, { minItems: 1, title: "list[ExampleMessage]" });

const asked = Type.Array(exampleMessageSchema, { minItems: 1, description: "What is answered." });

/** A message or a recorded Choice; which of the two it must be is checked apart. */
const messageOrChoice = Type.Object(
  {
    ...exampleMessageSchema.properties,
    ...choiceFields,
    role: Type.Optional(exampleMessageSchema.properties.role),
  },
  { ...open, title: "ExampleMessageOrChoice" },
);

const answer = Type.Union([Type.String({ title: "str" }), messageOrChoice, messages]);

const tools = nullable(Type.Array(Type.Object({}, open)), { description: "The tools that the request has." });

export const preferenceSchema = Type.Object(
  {
    prompt: nullable(Type.Union([Type.String({ title: "str" }), messages]), {
      description:
        "What is answered: messages, or the text of a user's. Without it the messages that both answers begin with, where they are lists.",
    }),
    messages: nullable(messages, { description: "The same as prompt, by another name." }),
    chosen: nullable(answer, {
      description:
        "The answer that people preferred: its text, a message, the messages behind the prompt, or a Choice as it was answered, which trains by its tokens.",
    }),
    rejected: nullable(answer, { description: "The answer that they did not." }),
    completion: nullable(answer, { description: "With the loss kto: an answer that is judged by itself." }),
    label: nullable(Type.Boolean(), { description: "Whether people wanted `completion`." }),
    input: nullable(Type.Object({ messages: asked, tools }, { ...open, title: "PreferenceInput" }), {
      description: "The prompt as OpenAI's files have it.",
    }),
    preferred_output: nullable(answer, { description: "The same as chosen, as OpenAI's files have it." }),
    non_preferred_output: nullable(answer, {
      description: "The same as rejected, as OpenAI's files have it.",
    }),
    tools,
    ...promptFields,
  },
  { ...open, title: "Preference" },
);
