// Sends traces and metrics to an OpenTelemetry collector, if the environment names one. Otherwise the SDK is not even
// loaded.
import { serviceOf, type Service } from "../../domain/lifecycle.ts";
import { noTelemetry, type Telemetry } from "../tracing.ts";
import type { OpenTelemetrySettings } from "./environment.ts";
import type { OpenTelemetryDependencies } from "./sdk.ts";

/** Starts to send traces and metrics. `stop` sends waiting data, but takes only a few seconds. */
export async function startOpenTelemetry(
  settings: OpenTelemetrySettings | null,
  dependencies: OpenTelemetryDependencies,
): Promise<Telemetry & Service> {
  if (settings === null) return { ...noTelemetry, ...serviceOf("telemetry", {}) };
  const { startSdk } = await import("./sdk.ts");
  return startSdk(settings, dependencies);
}
