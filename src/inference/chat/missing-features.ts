// What a request asks of an engine that cannot do it, refused field by field. The engine says what it can do; nothing
// here knows which engine it is.
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
import { calledFault } from "./tools/tool-use.ts";

/** The fields that ask for features, beside sampling and constraints. */
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
 * @param others what is refused beside, with it
 * @throws ServiceError `unsupported` naming every field that asks for what chat or the engine cannot do
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
  const held = missingOf(constraint, capabilities).length === 0 ? [] : [constraintFault(capabilities)];
  const all = [...request.unserved, ...faults, ...held, ...unknown, ...others];
  if (all.length > 0) throw new ServiceError({ code: "unsupported", faults: all });
}

/** Those of a request that ask for a feature; of constraints see {@link constraintFault}. */
function fieldsOf(feature: EngineFeature, sampling: ChatSampling): readonly ChatField[] {
  if (isOfConstraint(feature)) return [];
  if (isOther(feature)) return [otherFields[feature]];
  return askingParameters(sampling)
    .filter((parameter) => samplingFeatures[parameter] === feature)
    .map((parameter) => `sampling.${parameter}` as const);
}

/**
 * Asked of what a request comes to: calls of tools, and thoughts before a constraint, are held to constraints that the
 * client did not write.
 *
 * @throws ServiceError `unsupported` naming the field that asks for them
 */
export function refuseMissingConstraint(
  request: ChatRequest,
  constraint: Constraint | null,
  capabilities: EngineCapabilities,
): void {
  if (missingOf(constraint, capabilities).length === 0) return;
  const fault = request.constraint === null ? calledFault(request) : constraintFault(capabilities);
  throw new ServiceError({ code: "unsupported", faults: [fault] });
}

/** What of a constraint an engine does not offer, in words; none where it offers all. */
export function missingOf(
  constraint: Constraint | null,
  { features }: Pick<EngineCapabilities, "features">,
): readonly string[] {
  return constraintFeaturesOf(constraint)
    .filter((feature) => !features.has(feature))
    .map(wordsOf);
}

/** What of constraints an engine offers, in words. */
export function offeredConstraints({ features }: Pick<EngineCapabilities, "features">): string {
  return [...features].filter(isOfConstraint).map(wordsOf).join(", ");
}

function constraintFault(capabilities: EngineCapabilities): Fault {
  const offered = offeredConstraints(capabilities);
  const message =
    offered === ""
      ? "`constraint` is not supported by this server; leave it out or at its default."
      : `\`constraint\` asks for what the engine of this model does not offer; it offers ${offered}.`;
  return chatFault("constraint", { message, type: "unsupported" });
}

function isOfConstraint(feature: EngineFeature): feature is ConstraintFeature {
  return feature.startsWith("constraint-");
}

function wordsOf(feature: ConstraintFeature): string {
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
      "Others are registered by its operator, in the setting engine.logitsProcessors.";
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
