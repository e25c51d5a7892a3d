// Formats durations as readable text.

/** Returns a duration in seconds if below two minutes, in minutes if below two hours, otherwise in hours. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
