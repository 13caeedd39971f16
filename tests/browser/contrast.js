// Texts whose contrast with the nearest background that is set falls short of `least`: [[text, ratio]]. WCAG 2.2, 1.4.3.
(least) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = rgb(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255];
  };
  const isText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const isLeftOut = (element) => !element.checkVisibility() || element.closest("svg, :disabled, .visually-hidden");
  const short = [];
  for (const element of document.querySelectorAll("body *")) {
    if (!isText(element) || isLeftOut(element)) continue;
    const both = [luminance(rgb(getComputedStyle(element).color)), luminance(background(element))];
    const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    if (ratio < least) short.push([element.textContent.slice(0, 40), ratio]);
  }
  return short;
}
