// Describes how a base model answers, as derived from the files in its folder. The log shows it at the start, and
// lists of models show it too.
import type { TemplateReplies } from "../../../inference/chat/reply-abilities.ts";
import type { TemplateGap } from "../../../inference/chat/template-gaps.ts";
import type { BaseModel, ComputingPlace } from "../../../base/domain/model.ts";
import type { ListedBase } from "../../../api/wire/models/served-model.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";

/** Logs the settings that a base's folder contains, and their effects. */
export function logBase(
  { name, engine }: Pick<BaseModel, "name" | "engine">,
  {
    contextLength,
    precision,
    device: { device, reason },
    replies,
    notApplied,
    unshown,
  }: {
    readonly contextLength: number;
    readonly precision: string | undefined;
    readonly device: ComputingPlace;
    readonly replies: TemplateReplies;
    readonly notApplied: readonly string[];
    readonly unshown: readonly TemplateGap[];
  },
  logger: Logger,
): void {
  if (notApplied.length > 0)
    logger.warn({ model: name, notApplied }, "generation_config.json has settings that are not applied");
  const { calls, thoughts } = listedReplies(replies);
  logger.info(
    { model: name, contextLength, toolCalls: calls, thoughts },
    `${name}: context ${contextLength}, tool calls ${calls.format} (${calls.reason}), thoughts ${thoughts.areRead ? "on" : "off"} (${thoughts.reason})`,
  );
  if (engine.kind === "vllm")
    logger.info(
      { model: name, servers: engine.urls },
      `${name}: computed by vLLM at ${engine.urls.join(", ")}`,
    );
  else if (precision !== undefined)
    logger.info({ model: name, precision }, `${name}: weights are computed as ${precision}`);
  if (reason !== "")
    logger.warn({ model: name, device }, `${name}: computed by ${device}, because ${reason}`);
  logUnshown(unshown, name, logger);
}

/**
 * Logs the gaps of a chat template. A conversation that it cannot render is a warning. A feature that it silently
 * leaves out is logged at level `info`, because many templates support no tools.
 */
function logUnshown(unshown: readonly TemplateGap[], model: string, logger: Logger): void {
  if (unshown.length === 0) return;
  const level = unshown.some(({ isRefused }) => isRefused) ? "warn" : "info";
  const text = unshown.map(({ what }) => what).join("; ");
  logger[level]({ model }, `${model}: chat template: ${text}`);
}

/** Describes, for lists, how a model's answers are parsed, and why. */
export function listedReplies({
  callFormat,
  thinks,
  reasons,
}: TemplateReplies): NonNullable<ListedBase["replies"]> {
  return {
    calls: { format: callFormat?.name ?? "off", reason: reasons.calls },
    thoughts: { areRead: thinks, reason: reasons.thoughts },
  };
}
