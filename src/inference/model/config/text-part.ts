// The text model in the configuration of one that also takes images: its fields stand in `text_config`. Only it is computed.
import type { Architecture } from "../config.ts";
import type { JsonObject } from "./config-reader.ts";

/** The class of the text model, by the class of the whole and the type of the text model. */
const textClasses: Readonly<Record<string, Readonly<Record<string, Architecture>>>> = {
  Gemma3ForConditionalGeneration: { gemma3_text: "Gemma3ForCausalLM" },
  Mistral3ForConditionalGeneration: {
    mistral: "MistralForCausalLM",
    ministral3: "Ministral3ForCausalLM",
  },
};

/** The classes whose text model is computed. */
export const multimodalClasses: readonly string[] = Object.keys(textClasses);

/** Returns the configuration of the text model, or `config` itself if it is one or its class is not known. */
export function textPartOf(config: JsonObject): JsonObject {
  const { architectures, text_config: text } = config;
  const [name] = Array.isArray(architectures) ? (architectures as readonly unknown[]) : [];
  if (!isObject(text) || typeof name !== "string" || !Object.hasOwn(textClasses, name)) return config;
  const types = textClasses[name];
  const type = text["model_type"] ?? Object.keys(types)[0];
  const textClass = typeof type === "string" && Object.hasOwn(types, type) ? types[type] : undefined;
  if (textClass === undefined) return config;
  // Quantization and end tokens of the whole model apply to its text part too.
  return { ...withoutTextConfig(config), ...text, model_type: type, architectures: [textClass] };
}

function withoutTextConfig(config: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(config).filter(([field]) => !/^(text|vision)_config$/.test(field)),
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
