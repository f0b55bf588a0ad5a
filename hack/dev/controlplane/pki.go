// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// How long certificates of one run are valid. They are made anew at every start.
const certificateLifetime = 365 * 24 * time.Hour

// authority signs certificates. It is kept with the data, so that what was signed stays valid.
type authority struct {
	dir         string
	file        string
	certificate *x509.Certificate
	key         crypto.Signer
}

// openAuthority reads the authority called name from a folder, or makes it.
func openAuthority(dir, name string) (*authority, error) {
	a := &authority{dir: dir, file: filepath.Join(dir, name+".crt")}
	key, made, err := openKey(filepath.Join(dir, name+".key"))
	if err != nil {
		return nil, err
	}
	a.key = key
	if !made {
		certificates, err := certutil.CertsFromFile(a.file)
		if err == nil {
			a.certificate = certificates[0]
			return a, nil
		}
		if !os.IsNotExist(err) {
			return nil, fmt.Errorf("read the authority %s: %w", name, err)
		}
	}
	a.certificate, err = certutil.NewSelfSignedCACert(certutil.Config{CommonName: "feed-operator dev " + name}, key)
	if err != nil {
		return nil, fmt.Errorf("make the authority %s: %w", name, err)
	}
	return a, certutil.WriteCert(a.file, encode(a.certificate.Raw))
}

// openKey reads a private key, or makes one.
func openKey(file string) (key crypto.Signer, made bool, err error) {
	pemKey, made, err := keyutil.LoadOrGenerateKeyFile(file)
	if err != nil {
		return nil, false, fmt.Errorf("open the key %s: %w", filepath.Base(file), err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(pemKey)
	if err != nil {
		return nil, false, fmt.Errorf("read the key %s: %w", filepath.Base(file), err)
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, false, fmt.Errorf("%s is no signing key", file)
	}
	return signer, made, nil
}

// pair is a certificate with its key, in PEM.
type pair struct{ certificate, key []byte }

// client makes the identity of a user. Kubernetes takes the name and the groups from it.
func (a *authority) client(name string, groups ...string) (pair, error) {
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// server makes the identity of a server on this machine. etcd uses its own towards itself, so it
// is good for both ends.
func (a *authority) server(name string, names ...string) (pair, error) {
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    append([]string{"localhost"}, names...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) sign(template *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return pair{}, err
	}
	template.SerialNumber = serial
	// A clock that is set back a little must not make the new certificate invalid.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(certificateLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	pemKey, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return pair{}, err
	}
	return pair{certificate: encode(raw), key: pemKey}, nil
}

// write puts a pair beside the authority and returns the paths of both files.
func (a *authority) write(name string, p pair) (certificate, key string, err error) {
	certificate, key = filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")
	if err := certutil.WriteCert(certificate, p.certificate); err != nil {
		return "", "", err
	}
	return certificate, key, keyutil.WriteKey(key, p.key)
}

func encode(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: certificate})
}
