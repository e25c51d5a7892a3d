// Derives the project of traces from the names that tracing programs send.
import { isStorable } from "../../../base/domain/text/storable.ts";

const otherwise = "traces";

/**
 * Converts a service's name to a project's name. A missing name becomes `traces`. So does the name that OpenTelemetry's
 * libraries give to services without one.
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

/** Returns the id of a project. A name without an entity is a project of the caller's entity. */
export function projectIdOf(name: string, entity: string): string {
  return name.includes("/") ? name : `${entity}/${name}`;
}
