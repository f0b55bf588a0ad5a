// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package samplefeeds

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
)

// pictureFile is the image of some entries: of what is in the JSON Feed as a whole by that, and of advisories by their pages.
const pictureFile = "picture.png"

// picture draws it: a sky above a field.
func picture() ([]byte, error) {
	const width, height = 640, 320
	drawn := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		colour := color.RGBA{R: uint8(110 + y/3), G: uint8(160 + y/5), B: 235, A: 255}
		if y > height*2/3 {
			colour = color.RGBA{R: 96, G: 140, B: 70, A: 255}
		}
		for x := range width {
			drawn.SetRGBA(x, y, colour)
		}
	}
	var encoded bytes.Buffer
	err := png.Encode(&encoded, drawn)
	return encoded.Bytes(), err
}
