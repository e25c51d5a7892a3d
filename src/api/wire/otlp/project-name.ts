// Projects of traces, by the names that tracing programs give.
import { isStorable } from "../../../base/domain/text/storable.ts";

const otherwise = "traces";

/**
 * Makes the name of a service a name of a project. A missing name, and the name that OpenTelemetry's libraries give to
 * services without one, become `traces`.
 */
export function projectNameOf(service: unknown): string {
  if (typeof service !== "string" || service.startsWith("unknown_service") || !isStorable(service))
    return otherwise;
  const name = service
    .trim()
    .replace(/[/\s]+/g, "-")
    .slice(0, 128);
  return name === "" || !isStorable(name) ? otherwise : name;
}

/** Returns the id of a project that is named with its entity, or without for the caller's own. */
export function projectIdOf(name: string, entity: string): string {
  return name.includes("/") ? name : `${entity}/${name}`;
}
