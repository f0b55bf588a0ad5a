// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pdftext

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // the format is older than its end
	"crypto/rc4" //nolint:gosec // the same
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
)

// decrypter opens the streams of a document that anybody may read, but not change or print: such are
// encrypted with a key that follows from an empty password (ISO 32000-1, 7.6). Nil is for a document that
// is not encrypted.
type decrypter struct {
	key []byte
	// aes and perObject say how the key is used.
	aes, perObject bool
	// locked says that it takes a password, or a method that is not known here.
	locked bool
}

// passwordPad stands in place of a password.
var passwordPad = []byte("\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a")

func newDecrypter(f *file) *decrypter {
	if f.resolve(f.trailer["Encrypt"]) == nil {
		return nil
	}
	encrypt := f.dict(f.trailer["Encrypt"])
	version, _ := f.number(encrypt["V"])
	revision, _ := f.number(encrypt["R"])
	filter := f.dict(f.dict(encrypt["CF"])[f.name(encrypt["StmF"])])
	method := f.name(filter["CFM"])
	switch {
	case f.name(encrypt["Filter"]) != "Standard":
	case version == 1 || version == 2:
		return f.oldKey(encrypt, revision, false)
	case version == 4 && method == "V2":
		return f.oldKey(encrypt, revision, false)
	case version == 4 && method == "AESV2":
		return f.oldKey(encrypt, revision, true)
	case version == 5 && method == "AESV3":
		return f.newKey(encrypt, revision)
	case (version == 4 || version == 5) && filter == nil: // streams are as they are
		return nil
	}
	return &decrypter{locked: true}
}

// oldKey makes the key of revisions 2 to 4, and tries it.
func (f *file) oldKey(encrypt dict, revision float64, withAES bool) *decrypter {
	owner, _ := f.resolve(encrypt["O"]).(string)
	user, _ := f.resolve(encrypt["U"]).(string)
	permissions, _ := f.number(encrypt["P"])
	bits, ok := f.number(encrypt["Length"])
	if !ok || revision < 3 {
		bits = 40
	}
	if revision >= 4 {
		bits = 128
	}
	size := int(bits / 8)
	ids := f.list(f.trailer["ID"])
	if len(owner) < 32 || len(user) < 32 || size < 5 || size > 16 {
		return &decrypter{locked: true}
	}
	id := ""
	if len(ids) > 0 {
		id, _ = f.resolve(ids[0]).(string)
	}
	sum := md5.New() //nolint:gosec // as above
	sum.Write(passwordPad)
	sum.Write([]byte(owner[:32]))
	_ = binary.Write(sum, binary.LittleEndian, uint32(int64(permissions))) //nolint:gosec // a set of bits
	sum.Write([]byte(id))
	if revision >= 4 && f.resolve(encrypt["EncryptMetadata"]) == false {
		sum.Write([]byte("\xff\xff\xff\xff"))
	}
	key := sum.Sum(nil)
	if revision >= 3 {
		for range 50 {
			next := md5.Sum(key[:size]) //nolint:gosec // as above
			key = next[:]
		}
	}
	key = key[:size]
	if !bytes.HasPrefix([]byte(user), expected(key, id, revision)) {
		return &decrypter{locked: true}
	}
	return &decrypter{key: key, aes: withAES, perObject: true}
}

// expected is how the entry for the user begins, if the key is right.
func expected(key []byte, id string, revision float64) []byte {
	if revision < 3 {
		return arcFour(key, passwordPad)
	}
	sum := md5.Sum(append(bytes.Clone(passwordPad), id...)) //nolint:gosec // as above
	out := sum[:]
	for round := range 20 {
		turned := make([]byte, len(key))
		for i := range key {
			turned[i] = key[i] ^ byte(round)
		}
		out = arcFour(turned, out)
	}
	return out
}

// newKey makes the key of revisions 5 and 6, and tries it.
func (f *file) newKey(encrypt dict, revision float64) *decrypter {
	user, _ := f.resolve(encrypt["U"]).(string)
	wrapped, _ := f.resolve(encrypt["UE"]).(string)
	if len(user) < 48 || len(wrapped) < 32 {
		return &decrypter{locked: true}
	}
	hash := func(salt string) []byte {
		sum := sha256.Sum256([]byte(salt))
		if revision < 6 {
			return sum[:]
		}
		return harden(sum[:])
	}
	if !bytes.Equal(hash(user[32:40]), []byte(user[:32])) {
		return &decrypter{locked: true}
	}
	key := cbc(hash(user[40:48]), make([]byte, aes.BlockSize), []byte(wrapped[:32]))
	return &decrypter{key: key, aes: true}
}

// harden is algorithm 2.B of ISO 32000-2, for an empty password.
func harden(key []byte) []byte {
	for round := 0; ; round++ {
		block, err := aes.NewCipher(key[:16])
		if err != nil {
			return nil
		}
		out := bytes.Repeat(key, 64)
		cipher.NewCBCEncrypter(block, key[16:32]).CryptBlocks(out, out)
		remainder := 0
		for _, digit := range out[:16] {
			remainder += int(digit)
		}
		switch remainder % 3 {
		case 0:
			sum := sha256.Sum256(out)
			key = sum[:]
		case 1:
			sum := sha512.Sum384(out)
			key = sum[:]
		default:
			sum := sha512.Sum512(out)
			key = sum[:]
		}
		if round >= 63 && int(out[len(out)-1]) <= round-31 {
			return key[:32]
		}
	}
}

// decrypt returns the bytes of a stream as they were before they were encrypted.
func (d *decrypter) decrypt(s stream) []byte {
	switch {
	case d == nil || s.dict["Type"] == name("XRef"):
		return s.raw
	case d.locked:
		return nil
	}
	key := d.key
	if d.perObject {
		n, g := s.id.number, s.id.generation
		salted := append(bytes.Clone(key), byte(n), byte(n>>8), byte(n>>16), byte(g), byte(g>>8)) //nolint:gosec // the lower bytes
		if d.aes {
			salted = append(salted, "sAlT"...)
		}
		sum := md5.Sum(salted) //nolint:gosec // as above
		key = sum[:min(len(d.key)+5, len(sum))]
	}
	if !d.aes {
		return arcFour(key, s.raw)
	}
	if len(s.raw) < 2*aes.BlockSize {
		return nil
	}
	body := s.raw[aes.BlockSize:]
	out := cbc(key, s.raw[:aes.BlockSize], body[:len(body)/aes.BlockSize*aes.BlockSize])
	if len(out) == 0 {
		return nil
	}
	if padding := int(out[len(out)-1]); padding <= min(aes.BlockSize, len(out)) {
		out = out[:len(out)-padding]
	}
	return out
}

func arcFour(key, data []byte) []byte {
	keyed, err := rc4.NewCipher(key) //nolint:gosec // as above
	if err != nil {
		return nil
	}
	out := make([]byte, len(data))
	keyed.XORKeyStream(out, data)
	return out
}

// cbc decrypts whole blocks.
func cbc(key, start, data []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil
	}
	out := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, start).CryptBlocks(out, data)
	return out
}
