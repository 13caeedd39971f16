// Shades for values: the steps of one sequence that also reads in grey and with any colour blindness (css: .heat-N).

export const HEAT_STEPS = 16;

/** The class of a shade, 0 to HEAT_STEPS - 1. */
export function heatClass(step) {
  return `heat heat-${step}`;
}

/** The class for a percentage. */
export function loadClass(percent) {
  const step = Math.floor((Math.min(Math.max(percent, 0), 100) / 100) * HEAT_STEPS);
  return `load load-${Math.min(step, HEAT_STEPS - 1)}`;
}
