// What bounds the reading of a body, as plain data: it goes to other threads.
import type { HttpSettings } from "../settings.ts";
import type { JsonLimits } from "../../validation/json-body.ts";

export interface BodyLimits extends HttpSettings {
  readonly json: JsonLimits;
  /** Of each group of trajectories. */
  readonly trajectoryJson: JsonLimits;
}

export function bodyLimits(settings: HttpSettings): BodyLimits {
  const { jsonDepth: depthMax, jsonValues, trajectoryJsonValues } = settings;
  return {
    ...settings,
    json: { depthMax, valuesMax: jsonValues },
    trajectoryJson: { depthMax, valuesMax: trajectoryJsonValues },
  };
}
