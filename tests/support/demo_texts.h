// Texts that tests and scripted demonstrations let the fake engine write.
#pragma once

namespace tests {

inline constexpr const char* kSkyAnswer =
    "Sunlight is scattered by the air, and blue light is scattered more than red because its waves are shorter. "
    "So from every direction the sky looks blue, and the sun itself a little yellow.\n\n"
    "```python\nimport math\nfor nm in (450, 550, 650):\n    s = (450 / nm) ** 4\n    print(f'{nm} nm {s:.2f}')\n```\n\n"
    "The numbers fall with the **fourth power** of the wavelength, so `red` light passes almost untouched:\n\n"
    "1. blue, 450 nm\n2. green, 550 nm\n3. red, 650 nm\n";

}  // namespace tests
