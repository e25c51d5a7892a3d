// Refuses the features of a request that the engine lacks, each at its field. Reads only the engine's capabilities, so
// it works for every kind of engine.
import { chatFault, type ChatField, type ChatRequest, type ChatSampling } from "../../base/domain/chat.ts";
import {
  constraintFeaturesOf,
  featuresOf,
  type ConstraintFeature,
  type EngineCapabilities,
  type EngineFeature,
} from "../../base/domain/generation.ts";
import type { Constraint } from "../../base/domain/constraint.ts";
import { askingParameters, samplingFeatures, type SamplingFeature } from "../../base/domain/sampling.ts";
import { quoted, ServiceError, type Fault } from "../../base/domain/service-error.ts";
import type { ServedBase } from "./served-base.ts";
import { unsupportedCallsFault } from "./tools/tool-use.ts";

/** Request fields that need each feature, except features of sampling and of constraints. */
const otherFields: {
  readonly [Feature in Exclude<EngineFeature, ConstraintFeature | SamplingFeature | "embeddings">]: ChatField;
} = {
  "min-tokens": "stopping.minTokens",
  "prompt-logprobs": "output.promptLogprobCount",
  beam: "output.choices",
  priority: "identity.priority",
  "cache-salt": "identity.cacheSalt",
};

/**
 * Refuses a request that uses features which chat or the engine lacks.
 *
 * @param others other faults of the request, to report in the same error
 * @throws ServiceError `unsupported` naming every field that needs a missing feature
 */
export function refuseMissingFeatures(
  request: ChatRequest,
  capabilities: EngineCapabilities,
  others: readonly Fault[] = [],
): void {
  const { identity, sampling, constraint, stopping, output } = request;
  const { features } = capabilities;
  const asked = { ...identity, sampling, constraint, stopping, outputs: output, choices: output.choices };
  const faults = featuresOf(asked)
    .filter((feature) => !features.has(feature))
    .flatMap((feature) => fieldsOf(feature, sampling))
    .map((field) => chatFault(field, { message: messageOf(request, field), type: "unsupported" }));
  const unknown = features.has("logits-processors") ? unknownProcessors(request, capabilities) : [];
  const held = describeMissing(constraint, capabilities).length === 0 ? [] : [constraintFault(capabilities)];
  const all = [...request.unserved, ...faults, ...held, ...unknown, ...others];
  if (all.length > 0) throw new ServiceError({ code: "unsupported", faults: all });
}

/** Returns a fault if the request requires thoughts, and the model has none. */
export function reasoningFaults(
  { identity, output }: ChatRequest,
  { model, replies }: Pick<ServedBase, "model" | "replies">,
): readonly Fault[] {
  if (output.requiresReasoning !== true || replies.thinks) return [];
  const message = `${quoted(identity.model ?? model.name)} does not support thinking; leave \`output.requiresReasoning\` out.`;
  return [chatFault("output.requiresReasoning", { message, type: "unsupported" })];
}

/**
 * Returns the request fields that need a feature. For constraint features, returns none, because {@link
 * constraintFault} reports these.
 */
function fieldsOf(feature: EngineFeature, sampling: ChatSampling): readonly ChatField[] {
  if (isOfConstraint(feature)) return [];
  if (isOther(feature)) return [otherFields[feature]];
  return askingParameters(sampling)
    .filter((parameter) => samplingFeatures[parameter] === feature)
    .map((parameter) => `sampling.${parameter}` as const);
}

/**
 * Refuses a constraint that the engine does not support. The constraint may differ from the client's: it may also
 * enforce tool calls, or allow a thought before the constraint applies.
 *
 * @throws ServiceError `unsupported` naming the field that needs the constraint
 */
export function refuseMissingConstraint(
  request: ChatRequest,
  constraint: Constraint | null,
  capabilities: EngineCapabilities,
): void {
  if (describeMissing(constraint, capabilities).length === 0) return;
  const fault = request.constraint === null ? unsupportedCallsFault(request) : constraintFault(capabilities);
  throw new ServiceError({ code: "unsupported", faults: [fault] });
}

/** Describes the parts of a constraint that an engine does not support. Returns an empty text if it supports all. */
export function describeMissing(
  constraint: Constraint | null,
  { features }: Pick<EngineCapabilities, "features">,
): readonly string[] {
  return constraintFeaturesOf(constraint)
    .filter((feature) => !features.has(feature))
    .map(describeFeature);
}

/** Describes the constraints that an engine offers. */
export function describeOffered({ features }: Pick<EngineCapabilities, "features">): string {
  return [...features].filter(isOfConstraint).map(describeFeature).join(", ");
}

function constraintFault(capabilities: EngineCapabilities): Fault {
  const offered = describeOffered(capabilities);
  const message =
    offered === ""
      ? "`constraint` is not supported by this server; leave it out or at its default."
      : `\`constraint\` needs a feature that the engine of this model does not offer; it offers ${offered}.`;
  return chatFault("constraint", { message, type: "unsupported" });
}

function isOfConstraint(feature: EngineFeature): feature is ConstraintFeature {
  return feature.startsWith("constraint-");
}

function describeFeature(feature: ConstraintFeature): string {
  return feature.slice("constraint-".length).replaceAll("-", " ");
}

function unknownProcessors(
  { sampling }: ChatRequest,
  { processors = [] }: EngineCapabilities,
): readonly Fault[] {
  return (sampling.processors ?? []).flatMap(({ name }, index) => {
    if (processors.includes(name)) return [];
    const message =
      `There is no logits processor ${quoted(name)}; this server has ${processors.join(", ")}. ` +
      "Its operator registers others in the setting engine.logitsProcessors.";
    return [chatFault("sampling.processors", { message, type: "unsupported", below: [String(index)] })];
  });
}

function isOther(feature: EngineFeature): feature is keyof typeof otherFields {
  return Object.hasOwn(otherFields, feature);
}

function messageOf({ identity }: ChatRequest, field: ChatField): string {
  return field === "identity.priority"
    ? `Got priority ${identity.priority} but Priority scheduling is not enabled; send 0 or leave it out.`
    : `\`${field}\` is not supported by this server; leave it out or at its default.`;
}
