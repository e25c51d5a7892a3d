// The table of model families in docs/guides/models.md. It is generated from the test fixtures that prove it: goldens
// of Transformers and PyTorch, GGUF files compared with llama.cpp, and chat templates.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { systemClock } from "../../src/base/domain/clock.ts";
import { architectures, type Architecture } from "../../src/inference/architectures/config.ts";
import { createChatTemplate } from "../../src/inference/chat-templates/chat-template.ts";
import { readReplyAbilities } from "../../src/inference/chat/reply-abilities.ts";
import { families as ggufFamilies } from "../gguf-numbers/gguf-models.ts";

interface Row {
  /** Names of the models that have this class. */
  readonly models: string;
  /** Values of `general.architecture`. */
  readonly gguf: readonly string[];
  /** Path of the fixture with a published model's chat template; null if there is none. */
  readonly template: string | null;
}

const renderings = "test/fixtures/chat-renderings/templates";
const templates = "test/fixtures/chat-templates";

const rows: { readonly [Class in Architecture]: Row } = {
  LlamaForCausalLM: {
    models: "Llama, SmolLM2",
    gguf: ["llama"],
    template: `${renderings}/meta-llama-Llama-3.2-3B-Instruct.jinja`,
  },
  MistralForCausalLM: {
    models: "Mistral",
    gguf: ["llama"],
    template: `${renderings}/mistralai-Mistral-Nemo-Instruct-2407.jinja`,
  },
  Ministral3ForCausalLM: {
    models: "Ministral 3",
    gguf: ["mistral3"],
    template: `${renderings}/unsloth-mistral-Devstral-Small-2507.jinja`,
  },
  Qwen2ForCausalLM: {
    models: "Qwen2, Qwen2.5",
    gguf: ["qwen2"],
    template: `${renderings}/Qwen-Qwen2.5-7B-Instruct.jinja`,
  },
  Qwen3ForCausalLM: {
    models: "Qwen3",
    gguf: ["qwen3"],
    template: null,
  },
  Qwen3_5ForCausalLM: { models: "Qwen3.5", gguf: ["qwen35"], template: `${templates}/qwen3.5.jinja` },
  Gemma3ForCausalLM: {
    models: "Gemma 3",
    gguf: ["gemma3"],
    template: "test/fixtures/template-shapes/gemma.jinja",
  },
  Gemma4ForCausalLM: {
    models: "Gemma 4",
    gguf: ["gemma4"],
    template: `${renderings}/google-gemma-4-31B-it.jinja`,
  },
  GraniteForCausalLM: { models: "Granite 3", gguf: ["granite"], template: null },
  GraniteMoeHybridForCausalLM: {
    models: "Granite 4",
    gguf: ["granite", "granitehybrid"],
    template: `${renderings}/ibm-granite-granite-4.0.jinja`,
  },
  NemotronHForCausalLM: {
    models: "Nemotron-H",
    gguf: ["nemotron_h"],
    template: `${renderings}/NVIDIA-Nemotron-Nano-v2.jinja`,
  },
  SmolLM3ForCausalLM: { models: "SmolLM3", gguf: ["smollm3"], template: null },
  Olmo2ForCausalLM: { models: "OLMo 2", gguf: ["olmo2"], template: null },
  Olmo3ForCausalLM: { models: "OLMo 3", gguf: ["olmo2"], template: null },
  Phi3ForCausalLM: {
    models: "Phi-3, Phi-4-mini",
    gguf: ["phi3"],
    template: `${renderings}/microsoft-Phi-3.5-mini-instruct.jinja`,
  },
  Qwen3MoeForCausalLM: { models: "Qwen3-MoE", gguf: ["qwen3moe"], template: null },
  GptOssForCausalLM: { models: "gpt-oss", gguf: ["gpt-oss"], template: null },
  Qwen3_5MoeForCausalLM: {
    models: "Qwen3.5-MoE",
    gguf: ["qwen35moe"],
    template: `${templates}/qwen3.5.jinja`,
  },
  Lfm2ForCausalLM: {
    models: "LFM2, LFM2.5",
    gguf: ["lfm2"],
    template: `${renderings}/LFM2.5-8B-A1B.jinja`,
  },
};

const goldens = "test/fixtures/goldens";

/** Returns the model classes for which Transformers' logits, tokens and training were recorded. */
function goldenClasses(): ReadonlySet<string> {
  const folder = `${goldens}/models`;
  return new Set(
    readdirSync(folder).flatMap((name) => {
      const file = `${folder}/${name}/config.json`;
      if (!existsSync(file)) return [];
      // Safe cast: make-models.py wrote the file, and always writes the classes.
      return (JSON.parse(readFileSync(file, "utf8")) as { readonly architectures: readonly string[] })
        .architectures;
    }),
  );
}

function repliesOf(path: string | null): readonly [tools: string, thinking: string] {
  if (path === null) return ["as in its template", "as in its template"];
  const source = readFileSync(path, "utf8");
  const specialTokens = { bos_token: "<s>", eos_token: "</s>" };
  const template = createChatTemplate({ source, toolUseSource: null, specialTokens, clock: systemClock });
  const { callFormat, thinks } = readReplyAbilities({ name: "model" }, template, {
    toolCalls: [],
    reasoning: [],
  });
  return [callFormat === null ? "no" : `\`${callFormat.name}\``, thinks ? "yes" : "no"];
}

/** Returns the table as Markdown lines. */
export function familiesTable(): string {
  const proved = goldenClasses();
  const lines = architectures.map((name) => {
    const { models, gguf, template } = rows[name];
    const files = gguf.map((each) => (each in ggufFamilies ? `\`${each}\`` : "no")).join(", ");
    const isServed = proved.has(name) ? "yes" : "no";
    const cells = [models, `\`${name}\``, isServed, files, isServed, ...repliesOf(template)];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| models | architecture in `config.json` | served | `general.architecture` of a GGUF file | trained | tool calls | thinking |",
    "|---|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

/** Returns the text of the page with the new table between its marks. */
export function modelsPage(): string {
  const page = readFileSync("docs/guides/models.md", "utf8");
  const [begin, end] = ["<!-- families -->\n", "\n<!-- end -->"];
  const [before, rest] = page.split(begin);
  assert.ok(rest?.includes(end), "the page has the marks of the table");
  return `${before}${begin}${familiesTable()}${rest.slice(rest.indexOf(end))}`;
}
