// Reads those variables of OpenTelemetry's specification that its exporters do not read themselves: the enabled signals
// (traces, metrics) and the limits of the SDK. The exporters read addresses, headers, certificates and so on.
import { statSync } from "node:fs";
import { requirePlainFile } from "../../domain/transient-errors/plain-file.ts";
import { invalid, type ServiceError } from "../../domain/service-error.ts";

const protocols = ["http/protobuf", "http/json"] as const;
const roots = ["always_on", "always_off", "traceidratio"] as const;
const samplers = [...roots, ...roots.map((root) => `parentbased_${root}` as const)] as const;

type Environment = Readonly<Record<string, string | undefined>>;
export type OtlpProtocol = (typeof protocols)[number];
export type OpenTelemetrySettings = NonNullable<ReturnType<typeof readOpenTelemetry>>;

/**
 * Returns the settings for OpenTelemetry; null if no endpoint is set, or `OTEL_SDK_DISABLED` is true.
 *
 * @throws ServiceError `invalid` naming the variable, its value and the allowed values
 */
export function readOpenTelemetry(environment: Environment) {
  if (textOf(environment, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return null;
  const traces = protocolOf(environment, "TRACES");
  const metrics = protocolOf(environment, "METRICS");
  if (traces === null && metrics === null) return null;
  requireCertificates(environment);
  const number = (name: string, otherwise: number, max = 86_400_000, min = 1): number =>
    numberOf(environment, name, otherwise, { min, max });
  return {
    /** Protocol of each signal; null for a signal that is not exported. */
    traces,
    metrics,
    metricsIntervalMs: number("OTEL_METRIC_EXPORT_INTERVAL", 60_000, 86_400_000, 100),
    sampler: {
      name: choiceOf(environment, "OTEL_TRACES_SAMPLER", samplers, "parentbased_always_on"),
      ratio: number("OTEL_TRACES_SAMPLER_ARG", 1, 1, 0),
    },
    /** Options of the SDK's queue for spans. If the queue is full, further spans are dropped. */
    queue: {
      maxQueueSize: number("OTEL_BSP_MAX_QUEUE_SIZE", 2048, 1_000_000),
      maxExportBatchSize: number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, 100_000),
      scheduledDelayMillis: number("OTEL_BSP_SCHEDULE_DELAY", 5000),
      exportTimeoutMillis: number("OTEL_BSP_EXPORT_TIMEOUT", 30_000),
    },
  };
}

function protocolOf(environment: Environment, signal: "TRACES" | "METRICS"): OtlpProtocol | null {
  if (choiceOf(environment, `OTEL_${signal}_EXPORTER`, ["otlp", "none"], "otlp") === "none") return null;
  /**
   * Returns the name of the variable that applies to a signal: the signal's own variable if it is set, otherwise the
   * variable for all signals.
   */
  const nameOf = (suffix: string): string => {
    const own = `OTEL_EXPORTER_OTLP_${signal}_${suffix}`;
    return textOf(environment, own) === undefined ? `OTEL_EXPORTER_OTLP_${suffix}` : own;
  };
  const endpoint = textOf(environment, nameOf("ENDPOINT"));
  if (endpoint === undefined) return null;
  if (!URL.canParse(endpoint) || !/^https?:/i.test(endpoint))
    throw refused(nameOf("ENDPOINT"), endpoint, "an address that begins with http:// or https://");
  return choiceOf(environment, nameOf("PROTOCOL"), protocols, "http/protobuf");
}

/**
 * Checks that the certificates are regular files. The exporters read them synchronously, so a named pipe would block
 * the start of the server.
 */
function requireCertificates(environment: Environment): void {
  for (const name of Object.keys(environment).filter((key) =>
    /^OTEL_EXPORTER_OTLP_.*(CERTIFICATE|CLIENT_KEY)$/.test(key),
  )) {
    const path = textOf(environment, name);
    if (path !== undefined) requirePlainFile(path, statSync(path));
  }
}

/**
 * Returns the text of a variable; undefined if it is empty, because the specification treats an empty variable as not
 * set.
 */
function textOf(environment: Environment, name: string): string | undefined {
  return environment[name]?.trim() || undefined;
}

function choiceOf<Choice extends string>(
  environment: Environment,
  name: string,
  choices: readonly Choice[],
  otherwise: Choice,
): Choice {
  const text = textOf(environment, name) ?? otherwise;
  const choice = choices.find((known) => known === text);
  if (choice === undefined) throw refused(name, text, `one of ${choices.join(", ")}`);
  return choice;
}

function numberOf(
  environment: Environment,
  name: string,
  otherwise: number,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const text = textOf(environment, name);
  const value = text === undefined ? otherwise : Number(text);
  if (value >= min && value <= max) return value;
  throw refused(name, String(text), `a number between ${min} and ${max}`);
}

function refused(name: string, value: string, expected: string): ServiceError {
  return invalid(`${name} is "${value}"; it must be ${expected}.`);
}
