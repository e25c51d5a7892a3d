// Traces and metrics for an OpenTelemetry collector, where the environment names one. Else nothing of that is loaded.
import { serviceOf, type Service } from "../../domain/lifecycle.ts";
import { noTelemetry, type Telemetry } from "../tracing.ts";
import type { OpenTelemetrySettings } from "./environment.ts";
import type { OpenTelemetryDependencies } from "./sdk.ts";

/** It sends from now on; its `stop` sends what waits, for some seconds at most. */
export async function startOpenTelemetry(
  settings: OpenTelemetrySettings | null,
  dependencies: OpenTelemetryDependencies,
): Promise<Telemetry & Service> {
  if (settings === null) return { ...noTelemetry, ...serviceOf("telemetry", {}) };
  const { startSdk } = await import("./sdk.ts");
  return startSdk(settings, dependencies);
}
