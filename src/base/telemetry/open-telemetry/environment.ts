// What the environment says of OpenTelemetry, by the variables of its specification, which every program that has it reads.
// Nothing is sent unless an endpoint is set. What is known and cannot be done is refused by name.
import { ServiceError } from "../../domain/service-error.ts";

/** Where one signal goes, and how. */
export interface OtlpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly isCompressed: boolean;
  readonly protocol: "http/protobuf" | "http/json";
  /** Paths of PEM files. */
  readonly tls: { readonly ca: string | null; readonly cert: string | null; readonly key: string | null };
}

export interface TraceSampler {
  /** Of traces that begin here: 0 to 1. */
  readonly ratio: number;
  /** Whether a caller's own decision goes before. */
  readonly isParentBased: boolean;
}

export interface OpenTelemetrySettings {
  /** Null where none are sent. */
  readonly traces: OtlpTarget | null;
  readonly metrics: (OtlpTarget & { readonly intervalMs: number }) | null;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: TraceSampler;
  /** Of spans that wait to be sent: what finds no room is lost. */
  readonly queue: { readonly countMax: number; readonly batchMax: number; readonly delayMs: number };
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Null where no endpoint is set, or `OTEL_SDK_DISABLED` is true.
 *
 * @throws ServiceError `invalid` naming the variable, its value and what it may be
 */
export function readOpenTelemetry(environment: Environment): OpenTelemetrySettings | null {
  if (textOf(environment, "OTEL_SDK_DISABLED")?.toLowerCase() === "true") return null;
  const traces = targetOf(environment, "TRACES");
  const metrics = targetOf(environment, "METRICS");
  if (traces === null && metrics === null) return null;
  const queueMax = numberOf(environment, "OTEL_BSP_MAX_QUEUE_SIZE", 2048, { min: 1, max: 1_000_000 });
  return {
    traces,
    metrics: metrics && {
      ...metrics,
      intervalMs: numberOf(environment, "OTEL_METRIC_EXPORT_INTERVAL", 60_000, { min: 100, max: 86_400_000 }),
    },
    resource: resourceOf(environment),
    sampler: samplerOf(environment),
    queue: {
      countMax: queueMax,
      batchMax: Math.min(
        queueMax,
        numberOf(environment, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, { min: 1, max: 100_000 }),
      ),
      delayMs: numberOf(environment, "OTEL_BSP_SCHEDULE_DELAY", 5000, { min: 1, max: 86_400_000 }),
    },
  };
}

type Signal = "TRACES" | "METRICS";

/** What is said of the signal alone goes before what is said of all. */
function targetOf(environment: Environment, signal: Signal): OtlpTarget | null {
  const exporter = `OTEL_${signal}_EXPORTER`;
  const wanted = textOf(environment, exporter) ?? "otlp";
  if (wanted === "none") return null;
  if (wanted !== "otlp") throw refused(exporter, wanted, "otlp or none");
  const valueOf = (name: string): readonly [name: string, value: string | undefined] => {
    const own = `OTEL_EXPORTER_OTLP_${signal}_${name}`;
    const value = textOf(environment, own);
    const shared = `OTEL_EXPORTER_OTLP_${name}`;
    return value === undefined ? [shared, textOf(environment, shared)] : [own, value];
  };
  const [endpointName, endpoint] = valueOf("ENDPOINT");
  if (endpoint === undefined) return null;
  const [protocolName, protocol = "http/protobuf"] = valueOf("PROTOCOL");
  if (protocol !== "http/protobuf" && protocol !== "http/json") {
    const cure = "http/protobuf or http/json, with the endpoint of the collector for HTTP (often port 4318)";
    throw refused(protocolName, protocol, cure);
  }
  const [compressionName, compression = "none"] = valueOf("COMPRESSION");
  if (compression !== "gzip" && compression !== "none")
    throw refused(compressionName, compression, "gzip or none");
  const [timeoutName, timeout] = valueOf("TIMEOUT");
  const isOwn = endpointName.includes(signal);
  return {
    url: urlOf(endpointName, endpoint, isOwn ? null : `v1/${signal.toLowerCase()}`),
    headers: pairsOf(...valueOf("HEADERS")),
    timeoutMs: numberIn(timeoutName, timeout, 10_000, { min: 1, max: 600_000 }),
    isCompressed: compression === "gzip",
    protocol,
    tls: {
      ca: valueOf("CERTIFICATE")[1] ?? null,
      cert: valueOf("CLIENT_CERTIFICATE")[1] ?? null,
      key: valueOf("CLIENT_KEY")[1] ?? null,
    },
  };
}

/** @param path below the endpoint; null where that is the whole address */
function urlOf(name: string, value: string, path: string | null): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw refused(name, value, "an address that begins with http:// or https://");
  if (path !== null) url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`;
  return url.href;
}

function resourceOf(environment: Environment): Readonly<Record<string, string>> {
  const name = "OTEL_RESOURCE_ATTRIBUTES";
  const attributes = pairsOf(name, textOf(environment, name));
  const service = textOf(environment, "OTEL_SERVICE_NAME") ?? attributes["service.name"] ?? "hone";
  return { ...attributes, "service.name": service };
}

const samplers: Readonly<Record<string, Omit<TraceSampler, "ratio"> & { readonly ratio: number | null }>> = {
  always_on: { ratio: 1, isParentBased: false },
  always_off: { ratio: 0, isParentBased: false },
  traceidratio: { ratio: null, isParentBased: false },
  parentbased_always_on: { ratio: 1, isParentBased: true },
  parentbased_always_off: { ratio: 0, isParentBased: true },
  parentbased_traceidratio: { ratio: null, isParentBased: true },
};

function samplerOf(environment: Environment): TraceSampler {
  const name = "OTEL_TRACES_SAMPLER";
  const value = textOf(environment, name) ?? "parentbased_always_on";
  const sampler = Object.hasOwn(samplers, value) ? samplers[value] : undefined;
  if (sampler === undefined) throw refused(name, value, `one of ${Object.keys(samplers).join(", ")}`);
  const ratio =
    sampler.ratio ?? numberIn(`${name}_ARG`, textOf(environment, `${name}_ARG`), 1, { min: 0, max: 1 });
  return { ...sampler, ratio };
}

/** As the specification has it: an empty variable is one that is not set. */
function textOf(environment: Environment, name: string): string | undefined {
  const value = environment[name]?.trim();
  return value === "" ? undefined : value;
}

/** `name=value,name=value`, each percent-encoded. */
function pairsOf(name: string, text: string | undefined): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {};
  for (const pair of (text ?? "").split(",").filter((part) => part.trim() !== "")) {
    const at = pair.indexOf("=");
    try {
      if (at < 1) throw new URIError();
      pairs[decodeURIComponent(pair.slice(0, at).trim())] = decodeURIComponent(pair.slice(at + 1).trim());
    } catch {
      // Values of headers are secrets.
      throw new ServiceError({
        code: "invalid",
        message: `${name} holds a part that is not name=value, percent-encoded; it must be name=value,name=value.`,
      });
    }
  }
  return pairs;
}

interface Range {
  readonly min: number;
  readonly max: number;
}

function numberOf(environment: Environment, name: string, otherwise: number, range: Range): number {
  return numberIn(name, textOf(environment, name), otherwise, range);
}

function numberIn(name: string, text: string | undefined, otherwise: number, { min, max }: Range): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isFinite(value) && value >= min && value <= max) return value;
  throw refused(name, text, `a number between ${min} and ${max}`);
}

function refused(name: string, value: string, expected: string): ServiceError {
  return new ServiceError({
    code: "invalid",
    message: `${name} is ${JSON.stringify(value)}; it must be ${expected}.`,
  });
}
