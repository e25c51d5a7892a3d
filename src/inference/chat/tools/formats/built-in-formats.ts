// The built-in call formats. Each is the format in which models with certain chat templates write calls. Operators can
// describe further formats in the same notation (`read-description.ts`).
import { plainLayout, type CallLayout, type FormatDescription } from "./call-layout.ts";

function layout(members: Partial<CallLayout> & Pick<CallLayout, "call">): CallLayout {
  return { ...plainLayout, ...members };
}

const argumentKeys = "<arg_key>{name}</arg_key>\n<arg_value>{value}</arg_value>\n";
const mistralId = "[a-zA-Z0-9]{9}";
const mistralList = (calls: string): CallLayout =>
  layout({
    calls,
    separator: ", ",
    call: "{object}",
    object: { ...plainLayout.object, id: mistralId },
  });
const mistralNamed = (call: string): CallLayout => layout({ call });
const mistralLists = [mistralList("[TOOL_CALLS] [{calls}]"), mistralList("[TOOL_CALLS][{calls}]")];
const mistralNames = [
  mistralNamed("[TOOL_CALLS]{name}[ARGS]{arguments}"),
  mistralNamed("[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]{arguments}"),
];
/** The layout of a list without its mark, which small models sometimes omit. */
const bareList: CallLayout = { ...mistralList("[{calls}]"), isAtStart: true, isWritten: false };
const unwritten = (layouts: readonly CallLayout[]): readonly CallLayout[] =>
  layouts.map((one) => ({ ...one, isWritten: false }));

const llama3Object = { ...plainLayout.object, arguments: "parameters" };

/** Formats in the order in which they are tried. A format that could be mistaken for another one comes after it. */
export const builtInFormats = {
  hermes: {
    layouts: [layout({ call: "<tool_call>\n{object}\n</tool_call>", separator: "\n" })],
    ids: "long",
  },
  "qwen-coder": {
    layouts: [
      layout({
        call: "<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>",
        parameter: "<parameter={name}>\n{value}\n</parameter>\n",
        separator: "\n",
      }),
      // Models with this format sometimes omit the outer tag, so this layout has none.
      layout({
        call: "<function={name}>\n{parameters}</function>",
        parameter: "<parameter={name}>\n{value}\n</parameter>\n",
        isWritten: false,
      }),
    ],
    ids: "long",
  },
  mistral: { layouts: [...mistralLists, ...unwritten(mistralNames), bareList], ids: "short" },
  "mistral-named": { layouts: [...mistralNames, ...unwritten(mistralLists), bareList], ids: "short" },
  gemma: {
    layouts: [
      layout({
        call: "<start_function_call>call:{name}{arguments}<end_function_call>",
        quote: "<escape>",
      }),
    ],
    ids: "long",
  },
  gemma4: {
    layouts: [layout({ call: "<|tool_call>call:{name}{arguments}<tool_call|>", quote: '<|"|>' })],
    ids: "long",
  },
  granite: {
    layouts: [
      layout({ calls: "<|tool_call|>[{calls}]", separator: ", ", call: "{object}" }),
      layout({ calls: "<tool_call>[{calls}]", separator: ", ", call: "{object}", isWritten: false }),
    ],
    ids: "long",
  },
  functionary: { layouts: [layout({ call: "<function={name}>{arguments}</function>" })], ids: "long" },
  deepseek: {
    layouts: [
      layout({
        calls: "<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>",
        call: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>",
        separator: "\n",
      }),
    ],
    ids: "long",
  },
  "deepseek-v3.1": {
    layouts: [
      layout({
        calls: "<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>",
        call: "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
      }),
    ],
    ids: "long",
  },
  "deepseek-v3.2": dsml("function_calls"),
  "deepseek-v4": dsml("tool_calls"),
  glm: {
    layouts: [
      layout({
        call: "<tool_call>{name}\n{parameters}</tool_call>",
        parameter: argumentKeys,
        separator: "\n",
      }),
    ],
    ids: "long",
  },
  "kimi-k2": {
    layouts: [
      layout({
        calls: "<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>",
        call: "<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>",
      }),
    ],
    ids: "functions.{name}:{index}",
  },
  minimax: {
    layouts: [
      layout({
        calls: "<minimax:tool_call>\n{calls}\n</minimax:tool_call>",
        call: '<invoke name="{name}">\n{parameters}</invoke>',
        parameter: '<parameter name="{name}">{value}</parameter>\n',
        separator: "\n",
      }),
    ],
    ids: "long",
  },
  minicpm: {
    layouts: [
      layout({
        call: '<function name="{name}">{parameters}</function>',
        parameter: '<param name="{name}">{value}</param>',
        separator: "\n",
      }),
    ],
    ids: "long",
  },
  nemotron: {
    layouts: [layout({ calls: "<TOOLCALL>[{calls}]</TOOLCALL>", separator: ", ", call: "{object}" })],
    ids: "long",
  },
  gigachat: { layouts: [layout({ call: "<|function_call|>{object}" })], ids: "long" },
  apertus: {
    layouts: [
      layout({
        calls: "<|tools_prefix|>[{calls}]<|tools_suffix|>",
        call: '{"{name}": {arguments}}',
        separator: ", ",
      }),
    ],
    ids: "long",
  },
  // Llama 4 and other models write the list of calls without marks.
  pythonic: {
    layouts: [
      layout({
        calls: "<|tool_call_start|>[{calls}]<|tool_call_end|>",
        separator: ", ",
        call: "{name}({keywords})",
      }),
      layout({
        calls: "<|tool_call_start|>[{calls}]<|tool_call_end|>",
        separator: ", ",
        call: "{object}",
        isWritten: false,
      }),
      layout({
        calls: "<|tool_call_start|>{calls}<|tool_call_end|>",
        separator: ", ",
        call: "{name}({keywords})",
        isWritten: false,
      }),
      layout({
        calls: "[{calls}]",
        separator: ", ",
        call: "{name}({keywords})",
        isAtStart: true,
        isWritten: false,
      }),
    ],
    ids: "long",
    hint: "<|tool_list_start|>",
  },
  llama3: {
    layouts: [
      layout({ separator: "; ", call: "{object}", object: llama3Object, isAtStart: true }),
      layout({
        calls: "<|python_tag|>{calls}",
        separator: "; ",
        call: "{object}",
        object: llama3Object,
        isAtStart: true,
      }),
    ],
    ids: "long",
  },
  // Format for models whose template does not support tools. The prompt teaches this format to the model. Detection
  // never chooses it.
  generic: {
    layouts: [layout({ call: "<tool_call>\n{object}\n</tool_call>", separator: "\n" })],
    ids: "long",
    isTaught: true,
  },
} as const satisfies Readonly<Record<string, Omit<FormatDescription, "name">>>;

function dsml(block: string): Omit<FormatDescription, "name"> {
  return {
    layouts: [
      layout({
        calls: `<｜DSML｜${block}>\n{calls}\n</｜DSML｜${block}>`,
        call: '<｜DSML｜invoke name="{name}">\n{parameters}</｜DSML｜invoke>',
        parameter: '<｜DSML｜parameter name="{name}" string="{isText}">{value}</｜DSML｜parameter>\n',
        separator: "\n",
      }),
    ],
    ids: "long",
  };
}
