// Request fields for the conversation and how it is rendered. Both chat and tokenization requests have them.
import { Type } from "typebox";
import { anyObject, named } from "../../fields/any-object.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

/** Defines a member that only chat templates read, if at all. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const contentPart = Type.Union([
  Type.String({ title: "str" }),
  Type.Object(
    {
      type: Type.String({ description: "`text`, `input_text`, `output_text`, `refusal` or `thinking`." }),
      text: free("Text of a part of type `text`, `input_text` or `output_text`."),
      refusal: free("Text of the model's refusal."),
      thinking: free("The thoughts, for chat templates that read them from this member."),
      annotations: free("Accepted, but has no effect."),
      logprobs: free("Accepted, but has no effect."),
    },
    { ...named, title: "ContentPart" },
  ),
]);

const toolCall = Type.Object(
  {
    id: free("Id of the call; the message with its result repeats it as `tool_call_id`."),
    type: free("`function` or `custom`."),
    index: free("Accepted, but has no effect."),
    function: nullable(
      Type.Object(
        {
          name: free("Name of the function."),
          arguments: free("Arguments, as a JSON object or as a string of JSON."),
        },
        { ...named, title: "CalledFunction" },
      ),
      { description: "Name and arguments of a function call." },
    ),
    custom: nullable(
      Type.Object(
        { name: free("Name of the tool."), input: free("Input of the tool, as one string.") },
        { ...named, title: "CalledCustomTool" },
      ),
      { description: "Name and input of a custom tool call." },
    ),
  },
  { ...named, title: "MessageToolCall" },
);

export const messageSchema = Type.Object(
  {
    role: Type.String({
      description:
        "Role of the author, such as developer, system, user, assistant or tool. The chat template determines which roles are allowed.",
    }),
    content: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(contentPart, { title: "list[ContentPart]" })]),
      { description: "Content of the message: a string, or parts whose texts are concatenated." },
    ),
    name: nullable(Type.String(), { description: "Name of the author, for chat templates that show names." }),
    tool_call_id: nullable(Type.String(), {
      description: "In a tool message: id of the call whose result it contains.",
    }),
    tool_calls: nullable(Type.Array(toolCall), {
      description: "In an assistant message: its tool calls, in the form in which answers contain them.",
    }),
    reasoning: nullable(Type.Unknown(), {
      description: "In an assistant message: the thoughts that the model wrote before the message.",
    }),
    reasoning_content: nullable(Type.Unknown(), { description: "Alias of reasoning." }),
    // These members appear in answers of this server, which clients send back, or are read by some chat templates.
    refusal: free("Text of the model's refusal."),
    annotations: free("Accepted, but has no effect."),
    thinking: free("The thoughts, for chat templates that read them from this member."),
    tools: free("Tools of the message, for chat templates that read them from this member."),
    prompt_token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 })), {
      description:
        "In an assistant message: token ids of the prompt that the message answered, as the server returned them in the choice.",
    }),
    token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 })), {
      description:
        "In an assistant message: token ids of the message itself, as the server returned them in the choice. If prompt_token_ids followed by token_ids spell the text that the template renders up to the end of this message, the prompt starts with exactly these tokens. Otherwise the server tokenizes the text as usual.",
    }),
  },
  { ...named, title: "Message" },
);

export const toolSchema = Type.Object(
  {
    type: Type.Enum(["function", "custom"], {
      description: "Type of the tool: `function` takes arguments, `custom` takes one string.",
    }),
    function: nullable(
      Type.Object(
        {
          name: Type.String({ description: "Name of the function, as the model sees it." }),
          description: nullable(Type.String(), {
            description: "Description of the function, for the model.",
          }),
          parameters: nullable(anyObject, { description: "JSON Schema of the arguments." }),
          strict: nullable(Type.Boolean(), {
            description: "True to constrain the arguments of calls, so that they satisfy the schema exactly.",
          }),
        },
        { ...named, title: "FunctionDefinition" },
      ),
      { description: "The function; required with type `function`." },
    ),
    custom: nullable(
      Type.Object(
        {
          name: Type.String({ description: "Name of the tool, as the model sees it." }),
          description: nullable(Type.String(), { description: "Description of the tool, for the model." }),
          format: nullable(
            Type.Object(
              {
                type: Type.Enum(["text", "grammar"], {
                  description: "`text` for any text, `grammar` for text that matches a grammar.",
                }),
                grammar: nullable(
                  Type.Object(
                    {
                      syntax: Type.Enum(["lark", "regex"], { description: "Notation of the grammar." }),
                      definition: Type.String({
                        description: "The grammar, which the input of each call matches.",
                      }),
                    },
                    { ...named, title: "ToolGrammar" },
                  ),
                  { description: "The grammar; required with type `grammar`." },
                ),
              },
              { ...named, title: "ToolFormat" },
            ),
            { description: "Format of the tool's input; any text by default." },
          ),
        },
        { ...named, title: "CustomDefinition" },
      ),
      { description: "The custom tool; required with type `custom`." },
    ),
  },
  { ...named, title: "Tool" },
);

export const conversationFields = {
  messages: field("prompt.messages", Type.Array(messageSchema, { minItems: 1 }), {
    about:
      "The conversation so far, oldest first. The chat template determines which roles and which order it allows. If the template refuses a system message after other messages, the server merges all system messages into the first.",
    range: "at most 4,096, of at most 1,024 parts each, unless configured otherwise",
    example: [{ role: "user", content: "What is the capital of France?" }],
    inResponses: false,
  }),
  tools: field("prompt.tools", nullable(Type.Array(toolSchema)), {
    about: "Functions that the chat template shows to the model and that the model may call.",
    range: "at most 1,024 unless configured otherwise",
    otherwise: "none",
    example: [
      {
        type: "function",
        function: {
          name: "weather",
          description: "The weather in a city",
          parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      },
    ],
    inResponses: false,
  }),
  documents: field(
    "prompt.documents",
    nullable(Type.Array(Type.Object({}, { additionalProperties: Type.String() }))),
    {
      about:
        "Documents that the chat template shows to the model, if it supports documents. Each is an object whose values are strings.",
      otherwise: "none",
      example: [{ title: "Cats", text: "A cat has four legs." }],
    },
  ),
  chat_template: field("prompt.template", nullable(Type.String()), {
    about:
      "Jinja chat template to use instead of the model's own. Its rendering is limited in time and size. Required if the model has no template.",
    range: "at most 262,144 characters, unless configured otherwise",
    otherwise: "the model's own",
    example: "{% for message in messages %}{{ message.content }}\n{% endfor %}",
  }),
  chat_template_kwargs: field("prompt.templateArguments", nullable(anyObject), {
    about:
      "Additional variables for the chat template. They override the template's defaults. They do not override the messages, or variables that the server sets from other fields of the request.",
    range: "without the names `chat_template` and `tokenize`, which are not variables",
    default: {},
    example: { enable_thinking: false },
  }),
  reasoning_effort: field(
    "prompt.reasoningEffort",
    nullable(Type.Enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
    {
      about:
        "How much the model should think before it answers. The chat template receives this value in the variable reasoning_effort. It also receives the variable enable_thinking, which is false if the value is `none` and true otherwise.",
      otherwise: "the template's own",
      example: "low",
      inResponses: false,
    },
  ),
  add_generation_prompt: field("prompt.addGenerationPrompt", Type.Optional(Type.Boolean()), {
    about: "True to end the prompt with the tokens that open the assistant's turn.",
    otherwise: "true; false with continue_final_message",
    example: false,
    inResponses: false,
  }),
  continue_final_message: field("prompt.continueFinalMessage", Type.Optional(Type.Boolean()), {
    about:
      "True to leave the last message open, so that the model continues it. Cannot be combined with add_generation_prompt.",
    default: false,
    example: true,
    inResponses: false,
  }),
  add_special_tokens: field("prompt.addSpecialTokens", Type.Optional(Type.Boolean()), {
    about:
      "True to add the tokenizer's special tokens, such as a beginning-of-text token, to the special tokens that the template writes.",
    default: false,
    example: true,
  }),
};
